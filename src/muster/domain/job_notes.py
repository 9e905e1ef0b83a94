"""What a program notes about its job while it runs: parameters that it has chosen, and tags."""

from dataclasses import dataclass
from enum import StrEnum

LONGEST_KEY = 250
LONGEST_VALUE = 6000
LONGEST_TAG = 8000
MOST_NOTES = 1000
"""The most notes that one job may have."""
DELETED = "muster.deleted"
"""The tag of a run outside of Muster that its owner has deleted with MLflow's client, which can restore it."""


class NoteKind(StrEnum):
    PARAM = "param"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class JobNote:
    job_id: str
    kind: NoteKind
    key: str
    value: str
