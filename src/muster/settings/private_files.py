"""Writes files that only the server's account can read. They are replaced atomically."""

import os
from contextlib import suppress
from pathlib import Path


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
