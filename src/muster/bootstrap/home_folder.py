"""The home folder of the server: private to its user, and locked by one server at a time."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import structlog

from muster.domain.errors import Conflict, Invalid
from muster.lib.ids import new_id
from muster.settings.private_files import write_private

_FOLDERS = ("logs", "outputs", "packages", "node", "clusters.d")
_STOPPING = "stopping"
_log = structlog.get_logger("bootstrap.home")


def make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _FOLDERS:
            (home / name).mkdir(mode=0o700, exist_ok=True)
            (home / name).chmod(0o700)  # whoever made it before us may have left it open
    except OSError as error:
        raise Invalid(
            f"cannot use {home} as the home folder: {error}", hint="set MUSTER_HOME to another folder"
        ) from None


def warn_if_open(home: Path) -> None:
    """What is in it is closed, but the folder itself may be a directory of the system, which is left as it is."""
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        _log.warning("others can look into the home folder", home=str(home), hint=f"chmod 700 {home}")


def identity(home: Path) -> str:
    """Identifies this server on machines that several servers share. It is created once and kept in the home folder."""
    path = home / "identity"
    if not path.exists():
        write_private(path, new_id() + "\n")
    return path.read_text().strip()


def archive_key(home: Path) -> bytes:
    """Signs the addresses by which engines fetch archives. Made once: addresses outlive a restart."""
    path = home / "archive-key"
    if not path.exists():
        write_private(path, token_hex(32) + "\n")
    return bytes.fromhex(path.read_text().strip())


@contextmanager
def lock_home(home: Path, *, is_standby: bool = False) -> Iterator[bool]:
    """Lock the home folder. A second server in it is a mistake, unless it was started as a standby. Yields whether
    the lock was got."""
    descriptor = os.open(home / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)  # whoever can open it could lock it, and no server would start
    with os.fdopen(descriptor, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not is_standby:
                pid, _, doing = os.pread(lock.fileno(), 64, 0).decode("ascii", "replace").partition(" ")
                if doing.strip() == _STOPPING:
                    raise Conflict(
                        f"another server is still stopping, pid {pid}",
                        hint="it ends within seconds; start this one again then",
                    ) from None
                raise Invalid(
                    f"another server is already using {home}",
                    hint="stop it, set MUSTER_HOME to another folder, or start a standby: muster server --standby",
                ) from None
            yield False
        else:
            _note(home)
            yield True


def note_stopping(home: Path) -> None:
    """Let a server that is started now know that the one that has the lock is about to leave."""
    _note(home, f" {_STOPPING}")


def _note(home: Path, doing: str = "") -> None:
    with suppress(OSError):  # it only makes a message better
        (home / "server.lock").write_text(f"{os.getpid()}{doing}\n")
