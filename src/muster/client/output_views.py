"""What the server tells of a job's outputs, as read-only views."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class OutputView:
    path: str
    size: int
    sha256: str
    modified_at: str
    task: str
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Self:
        return cls(raw["path"], raw["size"], raw["sha256"], raw["modifiedAt"], raw["task"], raw)


@dataclass(frozen=True, slots=True)
class OutputsView:
    """`complete`: nothing more is to come of this attempt."""

    items: tuple[OutputView, ...]
    attempt: int
    complete: bool
    left_out: tuple[str, ...]
    problems: tuple[str, ...]
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Self:
        items = tuple(OutputView.of(item) for item in raw["items"])
        return cls(items, raw["attempt"], raw["complete"], tuple(raw["leftOut"]), tuple(raw["problems"]), raw)
