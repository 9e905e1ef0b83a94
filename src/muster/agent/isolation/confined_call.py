"""Runs a short program as a task of its user would run, with a deadline, for what users may have the agent try out.

A process of its own runs it, because only a process with one thread may fork and continue. That process adopts what the
program leaves behind, and kills it before it ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Mapping, Sequence

import muster.agent
from muster.agent.isolation.confined_start import Command, Confinement, spawn
from muster.agent.system.orphans import adopt_orphans, children
from muster.agent.system.processes import send
from muster.agent.system.short_commands import Called, call

_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from muster.agent.isolation.confined_call import main
main()
"""
_SOURCES = os.path.abspath(muster.agent.__file__).rsplit(os.sep, 3)[0]
_LATE = 124
_TO_END_S = 10.0
_LOOK_EVERY_S = 0.02
_KILL_ROUNDS = 1000


def confined_call(
    argv: Sequence[str],
    env: Mapping[str, str],
    within_s: float,
    confinement: Confinement,
    *,
    scratch: str,
    groups: Sequence[str],
    most_bytes: int,
) -> Called:
    """`scratch` is a folder that is for this call alone, and `groups` are the files by which its control groups are
    entered."""
    command = Command(scratch, None, scratch, groups, argv, env)
    order = json.dumps([command, confinement, within_s])
    runner = [sys.executable, "-IS", "-c", _CODE, _SOURCES, order]
    done = call(runner, within_s + _TO_END_S, most_bytes=most_bytes)
    return done._replace(code=None) if done.code == _LATE else done


def main() -> None:
    command, confinement, within_s = json.loads(sys.argv[2])
    adopt_orphans()
    pid = spawn(Command(*command), Confinement(*confinement))
    code = _wait(pid, time.monotonic() + within_s)
    _kill_the_rest()
    os._exit(code)


def _wait(pid: int, deadline: float) -> int:
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == pid:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        time.sleep(_LOOK_EVERY_S)
    return _LATE


def _kill_the_rest() -> None:
    """What is killed hands its own children to us."""
    for _ in range(_KILL_ROUNDS):
        rest = children()
        if not rest:
            return
        for pid in rest:
            send(pid, signal.SIGKILL)
        for pid in rest:
            os.waitpid(pid, 0)
