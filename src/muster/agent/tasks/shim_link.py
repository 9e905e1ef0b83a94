"""The agent's end of its shim: starts the process, sends it orders, hands on its notices, and starts another one when
it was killed.

The commands of a shim that was killed become children of the agent, which then waits for them itself. What had been
ordered and not yet started is ordered again: the claim keeps it from running twice.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

import muster.agent
from muster.agent.isolation.confined_start import Confinement
from muster.agent.system.channel import Channel
from muster.agent.system.frames import Message
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.tasks.joining import Joining

# The module's name is in two pieces, so that `pkill -f muster.agent` ends the agent and not the parent of the tasks.
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); __import__('muster' '.agent.tasks.shim', fromlist='x').main()"
_SOURCES = os.path.abspath(muster.agent.__file__).rsplit(os.sep, 3)[0]
_ANOTHER_AFTER_S = 0.1

Notice = Callable[[Message], None]
Killed = Callable[[Sequence[str]], None]


class ShimLink:
    def __init__(self, loop: Loop, exits: ExitWatch, on_notice: Notice, on_killed: Killed) -> None:
        """`on_killed` is given the tasks that the shim may have started and whose end it has not told."""
        self._loop = loop
        self._exits = exits
        self._on_notice = on_notice
        self._on_killed = on_killed
        self._ordered: Dict[str, Mapping[str, Any]] = {}
        self._started: Set[str] = set()
        self._channel: Optional[Channel] = None
        self._begin()

    def start(
        self,
        task: str,
        folder: str,
        cwd: str,
        groups: Joining,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Optional[Confinement] = None,
        log_bytes: Optional[int] = None,
        given: Optional[str] = None,
        stdin: Optional[str] = None,
    ) -> None:
        """`given` is what the command reads on its standard input. `stdin` is the kind of one that stays open: see
        `tasks.held_input`."""
        order: Dict[str, Any] = {
            "task": task,
            "folder": folder,
            "cwd": cwd,
            "groups": groups,
            "argv": argv,
            "env": env,
            "log_bytes": log_bytes,
        }
        if confinement is not None:
            order["confinement"] = confinement
        if given is not None:
            order["given"] = given
        if stdin is not None:
            order["stdin"] = stdin
        self._ordered[task] = order
        if self._channel is not None:
            self._channel.send(order)

    def _begin(self) -> None:
        orders, notices = os.pipe(), os.pipe()
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-IS", "-c", _CODE, _SOURCES, "muster-shim"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, orders[0], 0),
                (os.POSIX_SPAWN_DUP2, notices[1], 1),
                (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
            ],
            setsid=True,
            setsigmask=[],
        )
        os.close(orders[0])
        os.close(notices[1])
        channel = Channel(self._loop, notices[0], orders[1], self._noticed, lambda problem: channel.close())
        self._channel = channel
        for order in self._ordered.values():
            channel.send(order)
        self._exits.child(pid, lambda: self._killed(pid, channel, [notices[0], orders[1]]))

    def _noticed(self, notice: Message) -> None:
        task = notice["task"]
        self._ordered.pop(task, None)
        if notice["event"] == "started":
            self._started.add(task)
        else:
            self._started.discard(task)
        self._on_notice(notice)

    def _killed(self, pid: int, channel: Channel, fds: List[int]) -> None:
        """Handles the end of the shim itself, not only that of its pipe: its children become ours only then."""
        channel.drain()
        channel.close()
        for fd in fds:
            os.close(fd)
        reap(pid)
        self._channel = None
        tasks = [*self._started, *self._ordered]
        self._started.clear()
        self._on_killed(tasks)
        self._loop.call_later(_ANOTHER_AFTER_S, self._begin)
