"""Reads and writes files that only the server's account can read. They are replaced atomically."""

import os
import stat
from contextlib import suppress
from pathlib import Path


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
    """Write a file atomically with mode 0600. The temporary file is hidden, so that readers ignore it."""
    temporary = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    keep_names(path.parent)


def keep_names(folder: Path) -> None:
    """Make renames and removals in the folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
