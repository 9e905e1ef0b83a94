"""The texts of cluster files, read once, so that what is judged, used and kept is one and the same."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.wire.documents import MAX_BYTES

_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 4 * MAX_BYTES
"""More cannot be a document: they are measured in characters."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    was_in_force: bool = False
    """Keys and passwords that it names are not looked at again: they were right, and who runs with them goes on."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    message: str
    hint: str = ""


Files = Mapping[str, Text | Unreadable]
"""By name: of one in the folder its path from there, of another the whole."""


def is_document(name: str) -> bool:
    """Whether a file of this name is read for what it says. Hidden ones are what editors leave beside a file."""
    return "/" not in name and not name.startswith(".") and name.endswith(_SUFFIXES)


def read_file(path: Path) -> Text | Unreadable:
    """Never waits, whatever lies there: a pipe or a device is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Unreadable("is no file", "take it away, or give it another name")
            with open(handle, "rb", closefd=False) as file:
                data = file.read(_MOST_BYTES + 1)
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        if path.is_symlink():
            return Unreadable("is a link that leads nowhere", "mend the link, or take it away")
        return Unreadable(f"cannot be read: {error.strerror}")
    except OSError as error:
        return Unreadable(f"cannot be read: {error.strerror}", "let the account that runs the server read it")
    return _decoded(data)


def _decoded(data: bytes) -> Text | Unreadable:
    if len(data) > _MOST_BYTES:
        return Unreadable(f"is larger than {MAX_BYTES >> 10} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Unreadable("is no UTF-8 text", "save it as UTF-8")
    if not text.strip():
        return Unreadable("is empty", "write it anew, or take it away")
    return Text(text)
