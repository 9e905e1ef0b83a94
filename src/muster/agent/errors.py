"""The errors the agent answers with. One class: the caller reacts to the code, a person reads the message."""

from __future__ import annotations

import errno

BAD_REQUEST = "bad-request"
DISK_FULL = "disk-full"
NO_PORTS = "no-ports"
NOT_LISTENING = "not-listening"
NOT_RUNNING = "not-running"
NOT_SHIPPED = "not-shipped"
PACKAGE = "package"
PROLOG = "prolog"
PORT_IN_USE = "port-in-use"
START_FAILED = "start-failed"
STILL_RUNNING = "still-running"
SUPERSEDED = "superseded"
SYSTEM = "system"
TOO_LARGE = "too-large"
TOO_MANY_TASKS = "too-many-tasks"
UNKNOWN_TASK = "unknown-task"


class AgentError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def from_os_error(error: OSError) -> AgentError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return AgentError(DISK_FULL, "no space is left on the node's disk: {}".format(error))
    if error.errno == errno.E2BIG:
        return AgentError(TOO_LARGE, "Linux does not start a program with so long a command and so many variables")
    return AgentError(SYSTEM, str(error))
