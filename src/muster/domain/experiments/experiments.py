"""Experiments: names under which a person groups runs that are made outside of Muster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_EXPERIMENTS = 2000
"""The most experiments of one owner."""
MOST_TAGS = 200
MOST_TAG_BYTES = 64 << 10
"""The most bytes in the names and values of all tags of one experiment."""
LONGEST_NAME = 500
DEFAULT_ID, DEFAULT_NAME = "0", "Default"
"""Everybody has this one. It is stored nowhere, and has all jobs in it."""
EXPERIMENT_LABEL = "experiment"
"""The label of a run that is made outside of Muster, with the id of its experiment."""


@dataclass(frozen=True, slots=True)
class Experiment:
    id: str
    owner: str
    name: str
    created_at: float
    updated_at: float
    is_deleted: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


def default_experiment(owner: str) -> Experiment:
    return Experiment(DEFAULT_ID, owner, DEFAULT_NAME, 0.0, 0.0)


def tag_bytes(tags: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in tags.items())
