"""One writer of a folder at a time, whichever server it is: several may share the folder, on several machines too."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.domain.errors import Unavailable

_NAME = ".lock"
"""Hidden, so that readings pass over it. It stays: one that is removed may be held by somebody already."""
_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.02


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Blocks for a while. Raises Unavailable if somebody else does not let go, or if nothing can be written there."""
    try:
        handle = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            f"{folder} cannot be written: {error.strerror}", hint="let the account that runs the server own it"
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
                raise Unavailable(f"{folder} is being written by somebody else", hint=hint) from None
        time.sleep(_LOOK_EVERY_S)
