"""Reads and writes files that only the server's account can read. They are replaced atomically."""

import stat
from pathlib import Path

from muster.lib.atomic_files import write_atomically


def read_secret(path: Path, what: str) -> str:
    """Return the first line of a file. Raises ValueError if other users can read the file."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            raise ValueError(f"other users can read {path}: run chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    if not lines or not lines[0]:
        raise ValueError(f"{path} is empty: its first line must be the {what}")
    return lines[0]


def write_private(path: Path, text: str) -> None:
    """Write a file atomically with mode 0600."""
    write_atomically(path, text)
