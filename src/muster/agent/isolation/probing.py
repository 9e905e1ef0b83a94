"""What isolation this node can give, found out by trying."""

from __future__ import annotations

import os
from typing import Any, Dict

from muster.agent.isolation import confined_start
from muster.agent.isolation.confined_start import Command, Confinement

_REFUSED = "no user namespace can be made here, or nothing may be mounted in one: {}"


def possible(root: str, helper_why: str, groups_why: str, devices_why: str) -> Dict[str, Any]:
    """`why` says why there are no namespaces, `helper` why the task helper of an agent that is not root cannot be used,
    `groups` why tasks have no control groups, and `devices` why such a group cannot close devices; each is empty if
    nothing is wrong."""
    why = _namespace_problem(root)
    return {
        "user": os.getuid() == 0,
        "namespace": not why,
        "why": why,
        "helper": helper_why,
        "groups": groups_why,
        "devices": devices_why,
    }


def _namespace_problem(root: str) -> str:
    log = os.path.join(root, "isolation.log")
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600))
    command = Command(root, log, "/", (), ("/bin/sh", "-c", "exit 0"), {"PATH": "/usr/bin:/bin"})
    try:
        pid = confined_start.spawn(command, Confinement(None, True, None, (), ()))
        _, status = os.waitpid(pid, 0)
    except OSError:
        status = -1  # what failed is in the log
    if status == 0:
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        said = file.read(400).strip().splitlines()
    return _REFUSED.format(said[-1] if said else "it ended with {}".format(status))
