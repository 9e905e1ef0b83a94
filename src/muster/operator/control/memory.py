"""What the controller remembers of a job between two looks at it. All of it may be lost without harm."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class JobMemory:
    failures: int = 0
    """How often in a row the API server failed to do what was asked for this job."""
    retry_at: float = 0.0
    """Until when nothing is created, after the API server refused it."""
    refusal: str = ""
    foreign: dict[str, str] = field(default_factory=dict)
    """Names that belong to somebody else, and what they are."""
    status_at: float = 0.0
    """When the status was last written."""
    leisurely: int = 0
    """How often in a row only counts were written."""


class UnknownFields:
    """The fields of the status that the installed CRD does not have, such as those of paddle-operator: the API server
    drops them, and they must not look like a change for ever."""

    def __init__(self) -> None:
        self._paths: set[tuple[str, ...]] = set()

    def learn(self, sent: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        for key, value in sent.items():
            if value is None:
                continue
            if key not in kept:
                self._paths.add((key,))
            elif isinstance(value, Mapping) and isinstance(kept[key], Mapping):
                self._paths |= {(key, inner) for inner in value if inner not in kept[key]}

    def without(self, status: Mapping[str, Any]) -> dict[str, Any]:
        if not self._paths:
            return dict(status)
        return {
            key: {inner: one for inner, one in value.items() if (key, inner) not in self._paths}
            if isinstance(value, Mapping)
            else value
            for key, value in status.items()
            if (key,) not in self._paths
        }
