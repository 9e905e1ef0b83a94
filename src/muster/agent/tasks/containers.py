"""Tells a task's container to stop, and takes away what is left of it after the task's end, however that came about.

A container is told by its first process, which passes the signal on to the program: engines' clients lose signals that
come while a container starts.

Whoever started a container asks its engine how it ended and removes it. But one that was killed leaves it running, and
so does a machine that fell, or an engine: then it is removed here, by this agent or the next that finds the task's
folder. The files with the container's variables, which may be secrets, are removed at once; one of them stays, empty,
as the sign that there is something to do until it is done.
"""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future
from typing import Any, Dict, Mapping, Optional, Set

from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.system.processes import find_members, is_first_of_namespace, send
from muster.agent.system.removal import remove_tree
from muster.agent.system.short_commands import call
from muster.agent.tasks import task_folder
from muster.agent.tasks.launch_request import ContainerRef
from muster.agent.tasks.table import Task

# The variables by which a client finds its service, its storage and its registries.
_CLIENT_VARIABLES = (
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST",
    "CONTAINERS_REGISTRIES_CONF",
    "REGISTRY_AUTH_FILE",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "APPTAINER_CACHEDIR",
    "APPTAINER_TMPDIR",
    "APPTAINER_DOCKER_USERNAME",
    "APPTAINER_DOCKER_PASSWORD",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
_REGISTRY_FILE = "config.json"
_LOOK_EVERY_S = 0.1
_STARTS_WITHIN_S = 2.0
_TRY_AGAIN_S = 1.0
_TRY_AT_LEAST_EVERY_S = 60.0
_ANSWER_WITHIN_S = 30.0
_STATE_BYTES = 64


class Containers:
    def __init__(self, loop: Loop, current_boot: str) -> None:
        self._loop = loop
        self._boot = current_boot
        self._told: Set[str] = set()

    def terminate(self, task: Task) -> None:
        if is_contained(task):
            self._tell(task, time.monotonic() + _STARTS_WITHIN_S)

    def ended(self, task: Task) -> None:
        if not is_contained(task):
            return
        variables = os.path.join(task.folder, task_folder.CONTAINER_ENV)
        os.truncate(variables, 0)
        _remove_if_there(os.path.join(task.folder, task_folder.CONTAINER_VARIABLES))
        remove_tree(os.path.join(task.folder, task_folder.REGISTRY))
        self._told.discard(task.uid)
        facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
        self._clear(facts.get("container") or {}, variables, _TRY_AGAIN_S)

    def _clear(self, container: Mapping[str, Any], variables: str, again_s: float) -> None:
        """Tries for as long as it takes: an engine that is away still has the container when it is back."""

        def cleared(done: Future[bool]) -> None:
            if not done.result():
                later = min(again_s * 2, _TRY_AT_LEAST_EVERY_S)
                self._loop.call_later(again_s, lambda: self._clear(container, variables, later))

        self._loop.run_blocking(lambda: _is_cleared(container, variables), cleared)

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


def is_contained(task: Task) -> bool:
    return os.path.exists(os.path.join(task.folder, task_folder.CONTAINER_ENV))


def place_registry(folder: str, container: Optional[ContainerRef]) -> None:
    """Write the credentials for the registry where the engine's client reads them, and nobody else can. Whoever starts
    the container removes them when the image is there, and `Containers` when the task is over."""
    if container is None or container.registry is None:
        return
    place = os.path.join(folder, task_folder.REGISTRY)
    remove_tree(place)
    os.mkdir(place, 0o700)
    disk.write(os.path.join(place, _REGISTRY_FILE), container.registry)


def facts_of(container: Optional[ContainerRef]) -> Optional[Dict[str, str]]:
    return None if container is None else {"program": container.program, "name": container.name}


def client_environment(own: Mapping[str, str]) -> Dict[str, str]:
    """Returns those of our own variables that an engine's client needs."""
    return {name: own[name] for name in _CLIENT_VARIABLES if name in own}


def ran_out_of_memory(folder: str) -> bool:
    """Returns whether the engine recorded that the container ran out of memory. The program could have written anything
    there."""
    try:
        fd = os.open(os.path.join(folder, task_folder.CONTAINER_STATE), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.read(fd, _STATE_BYTES).strip() == b"true"
    except OSError:
        return False
    finally:
        os.close(fd)


def _is_cleared(container: Mapping[str, Any], variables: str) -> bool:
    program, name = str(container.get("program", "")), str(container.get("name", ""))
    if program and name and not _is_removed(program, name):
        return False
    _remove_if_there(variables)  # else the folder was put aside meanwhile
    return True


def _remove_if_there(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _is_removed(program: str, name: str) -> bool:
    """An engine that does not answer has not said that it is gone."""
    listed = [program, "ps", "--all", "--format", "{{.Names}}", "--filter", "name={}".format(name)]
    try:
        found = call(listed, _ANSWER_WITHIN_S)
        if found.code != 0 or name in found.output.split():
            call([program, "rm", "--force", "--volumes", name], _ANSWER_WITHIN_S)
            found = call(listed, _ANSWER_WITHIN_S)
    except OSError:
        return True  # the engine is gone, and nobody can ask it any more
    return found.code == 0 and name not in found.output.split()
