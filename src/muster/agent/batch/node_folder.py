"""The folder of a gang on a node that shares none with the login node.

Everybody may write to /tmp. The folder's name cannot be guessed, so that nobody can put something there before, and one
that is there already is used only if this account alone can enter it. All processes of the gang on the node share it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat

from muster.agent.errors import START_FAILED, AgentError
from muster.agent.system.removal import remove_tree

_PARENT = "/tmp"  # noqa: S108
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 100


def new_path() -> str:
    return os.path.join(_PARENT, "muster-" + os.urandom(16).hex())


def node_name() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


class NodeFolder:
    """Makes the folder if need be, and holds it until it is left. Raises AgentError if somebody else could have put
    something into it, and OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._held = _held(path)

    def leave(self) -> None:
        """The last one to leave removes it."""
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._held)
        else:
            self.remove()

    def remove(self) -> None:
        """Remove the folder. Processes that still use it must end, too."""
        remove_tree(self.path)
        os.close(self._held)


def _held(path: str) -> int:
    for _ in range(_TRIES):
        found = _opened(path)
        if found is None:
            continue
        try:
            fcntl.flock(found, fcntl.LOCK_SH)
            if _is_there(path, found):
                return found
        except BaseException:
            os.close(found)
            raise
        os.close(found)  # the last one has just left and removed it
    raise AgentError(START_FAILED, "the folder {} on {} is removed again and again".format(path, node_name()))


def _opened(path: str) -> "int | None":
    """Returns None if the folder was removed meanwhile."""
    is_new = _made(path)
    try:
        found = os.open(path, _FOLDER)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _not_ours(path, "is a link or a file") from None
        if error.errno == errno.EACCES:
            raise _not_ours(path, "belongs to somebody else") from None
        raise
    try:
        if is_new and os.fstat(found).st_uid == os.geteuid():
            os.fchmod(found, 0o700)  # whatever the default access list of /tmp gives others
        _check(path, os.fstat(found))
    except BaseException:
        os.close(found)
        raise
    return found


def _made(path: str) -> bool:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    return True


def _check(path: str, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise _not_ours(path, "belongs to the account with the number {}".format(found.st_uid))
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise _not_ours(path, "can be entered by other accounts")


def _not_ours(path: str, why: str) -> AgentError:
    words = "the folder {} on {} was there before and {}, so nothing in it can be trusted"
    return AgentError(START_FAILED, words.format(path, node_name(), why))


def _is_there(path: str, held: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(held))
    except FileNotFoundError:
        return False
