"""Files of people that are written in place, at any offset, as clients do that compare a file piece by piece and send
only what differs. Whoever reads such a file meanwhile sees it half written."""

from __future__ import annotations

import os
from typing import Any, Dict

from muster.agent.files.confined import Place, Walk, reading

Answer = Dict[str, Any]
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def resize(place: Place, size: int) -> Answer:
    """A file that does not exist, or has another size, becomes one of zeros that takes no room. One of this size keeps
    its bytes."""
    with Walk(place.root) as walk:
        folder = walk.enter(place.parts[:-1])
        try:
            created = os.open(place.name, _NEW, 0o666, dir_fd=folder)
        except FileExistsError:
            return _resized(place, size)
        try:
            os.ftruncate(created, size)
        finally:
            os.close(created)
    return {}


def write_at(place: Place, offset: int, data: bytes) -> Answer:
    with Walk(place.root) as walk, reading(walk.find(place.parts), os.O_WRONLY) as file:
        left = memoryview(data)
        while left:
            written = os.pwrite(file, left, offset)
            left, offset = left[written:], offset + written
        return {"size": os.fstat(file).st_size}


def _resized(place: Place, size: int) -> Answer:
    with Walk(place.root) as walk, reading(walk.find(place.parts), os.O_WRONLY) as file:
        if os.fstat(file).st_size != size:
            os.ftruncate(file, 0)
            os.ftruncate(file, size)
    return {}
