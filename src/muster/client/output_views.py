"""A job's outputs as the server answered them, typed and frozen like the views of `views`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from muster.client.views import Raw

if TYPE_CHECKING:
    from muster.api.artifacts import OutputList, OutputOut


@dataclass(frozen=True, slots=True)
class OutputView:
    path: str
    size: int
    sha256: str
    modified_at: str
    task: str
    raw: Raw

    @classmethod
    def of(cls, raw: "OutputOut") -> Self:
        return cls(raw["path"], raw["size"], raw["sha256"], raw["modifiedAt"], raw["task"], raw)


@dataclass(frozen=True, slots=True)
class OutputsView:
    """`complete` says that nothing more is to come of this attempt."""

    items: tuple[OutputView, ...]
    attempt: int
    complete: bool
    left_out: tuple[str, ...]
    problems: tuple[str, ...]
    raw: Raw

    @classmethod
    def of(cls, raw: "OutputList") -> Self:
        items = tuple(OutputView.of(item) for item in raw["items"])
        return cls(items, raw["attempt"], raw["complete"], tuple(raw["leftOut"]), tuple(raw["problems"]), raw)
