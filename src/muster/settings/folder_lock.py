"""Locks a folder of cluster files for writing. Several servers may share it, also from several machines."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.domain.errors import Unavailable

_NAME = ".lock"
"""Hidden, so that readers ignore it. It is never removed, because another server might hold it at that moment."""
_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.02


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Wait for the lock. Raises Unavailable if another server keeps it, or if the folder is not writable."""
    try:
        handle = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            f"{folder} cannot be written: {error.strerror}", hint="make the server's account its owner"
        ) from None
    try:
        _hold(handle, folder)
        yield
    finally:
        os.close(handle)


def _hold(handle: int, folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                hint = f"another server that shares the folder holds {folder / _NAME}; try again"
                raise Unavailable(f"{folder} is locked", hint=hint) from None
        time.sleep(_LOOK_EVERY_S)
