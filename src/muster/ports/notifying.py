"""Notices to people: what is sent, and by what means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class NoticeKind(StrEnum):
    FAILURE = "failure"
    RECOVERY = "recovery"
    DIGEST = "digest"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Picture:
    """`media_type` is `image/svg+xml` or `image/png`. `name` is a file name without a path."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Notice:
    """`id` stays the same if the same notice is sent again. `title` is one line, `text` plain text, `html` the same
    with everything escaped that others have written; empty if the text says it all. `data` is the same for programs."""

    id: str
    kind: NoticeKind
    title: str
    text: str
    at: float
    html: str = ""
    pictures: tuple[Picture, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class NotDelivered(Exception):
    """Nobody has accepted the notice, so that it must be sent again later. The message contains no secret."""


class Notifier(Protocol):
    """One way by which notices reach people."""

    def send(self, notice: Notice) -> str:
        """Returns when somebody has accepted the notice, with what people should know about it, else an empty text,
        and raises NotDelivered if nobody has. It blocks for a limited time, and sends nothing after it has raised. A
        notice may be sent twice if a process ends between the answer and its record, or if no answer comes."""
        ...
