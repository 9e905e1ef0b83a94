"""Small JSON files that are replaced as a whole, and locks between processes that change them."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muster.lib.atomic_files import write_atomically


def write_text(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file atomically and durably. Raises OSError."""
    write_atomically(path, text, mode, mark=str(os.getpid()))


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(values, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Empty if there is no such file, or none that was written here."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock. It ends with the process, also if that is killed."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def tried_lock(path: Path) -> Iterator[bool]:
    """Yields whether the lock was free. It is then held until the end of the block."""
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
