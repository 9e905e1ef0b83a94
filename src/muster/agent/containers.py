"""Tells a task's container to stop, and takes away what is left of it after the task's end, however that came about.

A container is told by its first process, which passes the signal on to the program: engines' clients lose signals that
come while a container starts.

The engine removes a container whose program ended by itself. But a client that was killed leaves it running, and so
does an agent or a machine that fell: then whoever finds the task's folder next removes it. The file with the
container's variables, which may be secrets, is emptied at once and stays as the sign that there is something to do
until it is done.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Dict, Mapping, Optional, Set

from muster.agent import folders
from muster.agent.calling import call
from muster.agent.engines import CLIENT_VARIABLES
from muster.agent.loop import Loop
from muster.agent.orders import ContainerRef
from muster.agent.processes import find_members, is_first_of_namespace, send
from muster.agent.tasks import Task

_LOOK_EVERY_S = 0.1
_STARTS_WITHIN_S = 2.0
_TRIES = 10
_TRY_AGAIN_S = 1.0
_ANSWER_WITHIN_S = 30.0


class Containers:
    def __init__(self, loop: Loop, current_boot: str) -> None:
        self._loop = loop
        self._boot = current_boot
        self._told: Set[str] = set()

    def terminate(self, task: Task) -> None:
        if _is_contained(task):
            self._tell(task, time.monotonic() + _STARTS_WITHIN_S)

    def ended(self, task: Task) -> None:
        if not _is_contained(task):
            return
        variables = os.path.join(task.folder, folders.CONTAINER_ENV)
        os.truncate(variables, 0)
        self._told.discard(task.uid)
        facts = folders.read_json(os.path.join(task.folder, folders.FACTS)) or {}
        container = facts.get("container") or {}
        self._loop.run_blocking(lambda: _clear(container, variables), lambda done: None)

    def _tell(self, task: Task, deadline: float) -> None:
        """One that has not come up yet is waited for, but not for ever: its client may be bringing a large image."""
        if task.over or task.uid in self._told:
            return
        members = find_members([task.target], self._boot).get(task.uid, [])
        first = [pid for pid in members if is_first_of_namespace(pid)]
        if not first and time.monotonic() < deadline:
            self._loop.call_later(_LOOK_EVERY_S, lambda: self._tell(task, deadline))
            return
        self._told.add(task.uid)
        for pid in first or members:
            send(pid, signal.SIGTERM)


def _is_contained(task: Task) -> bool:
    return os.path.exists(os.path.join(task.folder, folders.CONTAINER_ENV))


def facts_of(container: Optional[ContainerRef]) -> Optional[Dict[str, str]]:
    return None if container is None else {"program": container.program, "name": container.name}


def client_environment(own: Mapping[str, str]) -> Dict[str, str]:
    """What of our own variables an engine's client needs."""
    return {name: own[name] for name in CLIENT_VARIABLES if name in own}


def _clear(container: Mapping[str, Any], variables: str) -> None:
    program, name = str(container.get("program", "")), str(container.get("name", ""))
    if program and name and not _is_removed(program, name):
        return  # the next agent tries again
    try:
        os.unlink(variables)
    except FileNotFoundError:
        pass  # the folder was put aside meanwhile


def _is_removed(program: str, name: str) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_TRY_AGAIN_S)  # it may just be removing it by itself
        try:
            found = call([program, "container", "inspect", name], _ANSWER_WITHIN_S)
            if found.code not in (0, None):
                return True
            call([program, "rm", "--force", name], _ANSWER_WITHIN_S)
        except OSError:
            return True  # the engine is gone, and nobody can ask it any more
    return False
