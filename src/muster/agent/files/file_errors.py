"""The error codes of operations on files. A caller reacts to the code, a person reads the message."""

from __future__ import annotations

import errno
from typing import Dict, Optional, Tuple

from muster.agent.errors import BAD_REQUEST, DISK_FULL, AgentError, from_os_error
from muster.agent.system.file_identity import FileIdentity

BUSY = "busy"
CHANGED = "changed"
CROSS_DEVICE = "cross-device"
DENIED = "denied"
DIGEST = "digest"
EXISTS = "exists"
IS_A_FOLDER = "is-a-folder"
NOT_A_FILE = "not-a-file"
NOT_A_FOLDER = "not-a-folder"
NOT_EMPTY = "not-empty"
NOT_FOUND = "not-found"
OUTSIDE = "outside"
TOO_DEEP = "too-deep"

_ERRORS: Dict[int, Tuple[str, str]] = {
    errno.ENOENT: (NOT_FOUND, "there is no such file or folder"),
    errno.ENOTDIR: (NOT_A_FOLDER, "a part of the path is not a folder"),
    errno.ELOOP: (NOT_A_FOLDER, "a part of the path is not a folder"),
    errno.EISDIR: (IS_A_FOLDER, "it is a folder"),
    errno.EEXIST: (EXISTS, "it exists already"),
    errno.ENOTEMPTY: (NOT_EMPTY, "the folder is not empty"),
    errno.EXDEV: (CROSS_DEVICE, "it is on another disk"),
    errno.EACCES: (DENIED, "the account that runs the node's agent may not do this"),
    errno.EPERM: (DENIED, "the account that runs the node's agent may not do this"),
    errno.EROFS: (DENIED, "the node's disk can only be read"),
    errno.ENOSPC: (DISK_FULL, "no space is left on the node's disk"),
    errno.EDQUOT: (DISK_FULL, "the node's account has used up its share of the disk"),
    errno.ENAMETOOLONG: (BAD_REQUEST, "the name is too long"),
    errno.EINVAL: (BAD_REQUEST, "this cannot be done: a folder cannot be put into itself"),
}


_NOT_YOURS = "your account on the node may not do this"


def file_error(error: OSError, identity: Optional[FileIdentity] = None) -> AgentError:
    """The message has no paths: the caller knows its own, and those of the node are not disclosed. `identity` is the
    account that was refused, if it was not the agent's."""
    if identity is not None and error.errno in (errno.EACCES, errno.EPERM):
        return AgentError(DENIED, _NOT_YOURS)
    if error.errno in _ERRORS:
        return AgentError(*_ERRORS[error.errno])
    return from_os_error(OSError(error.errno, error.strerror))
