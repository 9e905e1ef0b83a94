"""Secrets: values that belong to a user, and that jobs of the user get by name.

A value is known in two places only: encrypted in the store, and in the launch of a task that asks for it.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum


class SecretKind(StrEnum):
    TEXT = "text"
    BINARY = "binary"
    """It is not UTF-8, or contains a NUL character, so that it can be given as a file only."""


@dataclass(frozen=True, slots=True)
class Secret:
    """What is stored of a secret. Names are unique for each owner."""

    owner_id: str
    name: str
    kind: SecretKind
    size_bytes: int
    created_at: float
    updated_at: float
    owner: str = ""
    """The present name of the owner. It is not stored with the secret."""
    sealed: str = field(default="", repr=False)
    """The encrypted value. Lists leave it out."""


OF_A_JOB = re.compile(r"[0-9][0-9a-hjkmnp-tv-z]{15}\.(.+)")
"""The names of secrets that came in the file of a job. They begin with its id, and no user can choose one of them."""


def is_of_a_job(name: str) -> bool:
    return OF_A_JOB.fullmatch(name) is not None


def job_secrets_owner(job_id: str) -> str:
    """The owner of what is kept for a job alone. It is no id of a user, so that no list has it."""
    return f"job:{job_id}"


def kind_of(value: bytes) -> SecretKind:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return SecretKind.BINARY
    return SecretKind.BINARY if b"\0" in value else SecretKind.TEXT
