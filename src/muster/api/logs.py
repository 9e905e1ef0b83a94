"""Lines of logs, as the API answers them."""

from typing import Annotated, NotRequired, TypedDict


class LogLineOut(TypedDict):
    n: Annotated[int, "Its number; the first line is 1."]
    offset: Annotated[int, "The position of its first byte among all that the task has printed."]
    at: NotRequired[Annotated[str, "When it was begun, to a second; absent if that is not known."]]
    text: Annotated[
        str, "The line without its newline. ANSI codes and carriage returns are in it as they were printed."
    ]
    cutBytes: NotRequired[Annotated[int, "How many bytes of a very long line are not in the text."]]


class LogLinesOut(TypedDict):
    worker: Annotated[str, "The task's role and index, such as `worker-0`."]
    attempt: int
    lines: list[LogLineOut]
    total: Annotated[int, "How many lines the log has so far. A last one without a newline counts."]
    sizeBytes: int
    droppedBytes: Annotated[int, "Bytes that were dropped from the middle; one line is in their place."]
    isComplete: Annotated[bool, "Whether the log will not grow any more."]


class FoundLineOut(TypedDict):
    worker: str
    n: Annotated[int, "The number of the line; the first is 1."]
    offset: Annotated[int, "The position of its first byte among all that the task has printed."]
    text: Annotated[str, "The line; of a long one, the part around the first match."]
    ranges: Annotated[list[list[int]], "Where the matches begin and end in the text, in characters; the first 100."]


class LogSearchOut(TypedDict):
    attempt: int
    items: list[FoundLineOut]
    total: Annotated[int, "How many lines match from the cursor on, with those beyond `limit`."]
    isCut: Annotated[bool, "Whether there is more to search, so that more lines may match than `total` says."]
    nextCursor: Annotated[str | None, "Where to go on: behind the last item, or behind what was searched."]
    searchedBytes: int
    unread: Annotated[list[str], "Workers whose logs cannot be read: the node is unreachable, or the log was removed."]
