"""Files that are replaced as a whole: whoever reads one finds what was there before, or all of what is new, also after
a power failure."""

import os
from pathlib import Path

from muster.lib.partial_files import sync_folder


def write_atomically(path: Path, text: str, mode: int = 0o600, *, mark: str = "new") -> None:
    """Raises OSError. The temporary file is hidden, so that readers of the folder ignore it, and has the mark in its
    name: processes that may write at the same time give different ones."""
    temporary = path.with_name(f".{path.name}.{mark}")
    temporary.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
