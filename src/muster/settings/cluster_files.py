"""The texts of cluster files. Each is read once, so that the text that is checked is the one that is used and kept."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from muster.wire.documents import MAX_BYTES

_SUFFIXES = (".yaml", ".yml")
OWN_FILES = ("cluster.yaml", "cluster.yml")
"""The file of a cluster that has a folder of its own in the folder of the cluster files."""
_MOST_BYTES = 4 * MAX_BYTES
"""The limit of a document is in characters, each of which has at most 4 bytes in UTF-8."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    was_in_force: bool = False
    """The text was valid before, so the key and password files that it names are not checked again."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    message: str
    hint: str = ""


Files = Mapping[str, Text | Unreadable]
"""The files by their names: a path relative to the folder, or an absolute path for files outside it."""


def is_document(name: str) -> bool:
    """Return whether a file of this name, relative to the folder, is a cluster file: a file of the folder itself, or
    the file of a cluster that has a folder of its own. Hidden files are temporary files of editors."""
    folder, _, own = name.rpartition("/")
    if folder:
        return own in OWN_FILES and "/" not in folder and not folder.startswith(".")
    return not name.startswith(".") and name.endswith(_SUFFIXES)


def read_file(path: Path) -> Text | Unreadable:
    """Read a file without ever blocking: a pipe or a device is reported as unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Unreadable("is not a regular file", "remove it, or give it another name")
            with open(handle, "rb", closefd=False) as file:
                data = file.read(_MOST_BYTES + 1)
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        if path.is_symlink():
            return Unreadable("is a broken link", "fix the link, or remove it")
        return Unreadable(f"cannot be read: {error.strerror}")
    except OSError as error:
        return Unreadable(f"cannot be read: {error.strerror}", "let the server's account read it")
    return _decoded(data)


def digest_of(path: Path) -> str | None:
    """Return the digest of a file; None if there is none, or none that a cluster file could be."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            with open(handle, "rb", closefd=False) as file:
                return sha256(file.read(_MOST_BYTES + 1)).hexdigest()
        finally:
            os.close(handle)
    except OSError:
        return None


def _decoded(data: bytes) -> Text | Unreadable:
    if len(data) > _MOST_BYTES:
        return Unreadable(f"is larger than {MAX_BYTES >> 10} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Unreadable("is not UTF-8 text", "save it as UTF-8")
    if not text.strip():
        return Unreadable("is empty", "write it again, or remove it")
    return Text(text)
