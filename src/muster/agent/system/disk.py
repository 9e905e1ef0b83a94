"""Small files on this node's disk, written whole or not at all; and how much space is used and left."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional

_LAST_WORDS_BYTES = 64 * 1024
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Writes a new file and renames it, so that a reader finds all of it or nothing."""
    partial = path + ".partial"
    write(partial, json.dumps(value).encode("utf-8"))
    os.rename(partial, path)


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """Returns None if the file is missing or cannot be what we wrote."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def is_full(path: str) -> bool:
    """Returns whether its disk has too little space left even for a final record."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LAST_WORDS_BYTES


def size_of(path: str) -> int:
    """Bytes of all files below; links count nothing."""
    total = 0
    for parent, _, names in os.walk(path):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name), follow_symlinks=False).st_size
            except OSError:
                continue  # gone meanwhile
    return total


def write(path: str, content: bytes) -> None:
    fd = os.open(path, _WRITE_NEW, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
