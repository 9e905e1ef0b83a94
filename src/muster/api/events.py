"""Events, as the API answers and streams them."""

from typing import Any, NotRequired, TypedDict


class EventOut(TypedDict):
    seq: int
    at: str
    kind: str
    jobId: str | None
    actor: str | None
    data: dict[str, Any]


class EventPage(TypedDict):
    items: list[EventOut]
    nextCursor: NotRequired[str | None]
