"""The history of jobs on all servers that send their records to one log server, as the API answers it."""

from typing import Annotated, Any, NotRequired, TypedDict


class PastJobOut(TypedDict):
    id: str
    receiver: Annotated[str, "The name under which the log server knows where the job ran."]
    submittedAt: str
    lastAt: Annotated[str, "When the last record of it was made."]
    server: NotRequired[Annotated[str, "The address of that server."]]
    name: NotRequired[str]
    owner: NotRequired[str]
    cluster: NotRequired[str]
    vc: NotRequired[str]
    state: NotRequired[str]
    reason: NotRequired[str]
    attempt: NotRequired[int]
    framework: NotRequired[str]
    priority: NotRequired[str]
    package: NotRequired[Annotated[str, "The digest of its package."]]
    params: NotRequired[dict[str, Any]]
    trackingUrl: NotRequired[Annotated[str, "Where it can be followed."]]
    startedAt: NotRequired[str]
    endedAt: NotRequired[str]
    fault: NotRequired[Annotated[dict[str, Any], "Why it failed."]]
    used: NotRequired[Annotated[dict[str, Any], "What it used, once it has ended."]]
    ranS: NotRequired[float]
    gpuHours: NotRequired[float]
    retries: NotRequired[int]
    preemptions: NotRequired[int]


class HistoryPage(TypedDict):
    items: list[PastJobOut]
    nextCursor: str | None
    onlyOwn: Annotated[bool, "Whether only your own jobs are listed, because you are not an admin."]


class HistoryJobOut(TypedDict):
    job: PastJobOut
    records: Annotated[list[dict[str, Any]], "All records of it, in their order. The first has its config."]
