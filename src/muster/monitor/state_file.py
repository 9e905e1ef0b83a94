"""Keeps the state in a file that is replaced atomically. Two monitors never share one."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from muster.domain.errors import Conflict, Invalid
from muster.monitor.state import MonitorState
from muster.settings.private_files import write_private

_log = structlog.get_logger("monitor")
_STATE = TypeAdapter(MonitorState)


def read_state(path: Path) -> MonitorState | None:
    """Returns None if there is no state. Raises Invalid if it cannot be read or understood."""
    try:
        return _STATE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None
    except ValidationError:
        raise Invalid(f"{path} is not the state of a monitor, or that of another version") from None


def write_state(path: Path, state: MonitorState) -> None:
    """Raises OSError."""
    write_private(path, _STATE.dump_json(state).decode())


def opened_state(path: Path) -> MonitorState:
    """The state to begin with. One that cannot be understood is put aside, because a monitor that does not start
    watches nothing; failures that were told may be told again then."""
    try:
        return read_state(path) or MonitorState()
    except Invalid as error:
        aside = path.with_name(f"{path.name}.unreadable")
        try:
            path.replace(aside)
        except OSError as moving:
            raise Invalid(f"{error.message}, and it cannot be put aside: {moving.strerror}") from None
        _log.error("the state could not be read, and a new one is begun", error=error.message, aside=str(aside))
        return MonitorState()


@contextmanager
def only_monitor(path: Path) -> Iterator[None]:
    """Raises Conflict if another monitor uses the file, and Invalid if there can be none."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Invalid(
            f"cannot write {lock}: {error.strerror}", hint="stateFile names a file that can be written"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise Conflict(f"another monitor uses {path}", hint="give each monitor a stateFile of its own") from None
    try:
        yield
    finally:
        os.close(handle)
