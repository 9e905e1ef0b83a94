"""Files that the server writes for its own account alone: whole or not at all, whatever happens meanwhile."""

import os
from contextlib import suppress
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """All or nothing, for the server's account alone. The temporary name is one that readings pass over."""
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
    """So that what was renamed or removed there lasts too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
