"""Collects the outputs of tasks from their pods, which stay until that is done.

A container beside the task keeps the pod, and with it the working directory, after the task's end. The server runs a
program there (`pod_link`), which lists and reads files as the agents of other clusters do. The pod needs no address of
the server and no token.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muster.agent.system.frames import Message
from muster.agent.tasks.outputs import MAX_FILES, PAGE
from muster.backends.agents.flow_control import Pace
from muster.backends.agents.output_collection import OutputCollection
from muster.backends.kubernetes.pod_link import PodLink, linked
from muster.backends.kubernetes.pod_state import KEEPER, MAIN, handle_of, task_of
from muster.domain.errors import BackendError, MusterError, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Missing, Refused
from muster.kubernetes.resources import PODS
from muster.kubernetes.times import instant
from muster.ports.capabilities import Collected, TaskRef

_STOP_S = 15.0
_KEPT_S = 24 * 3600.0
_LATEST_S = 1 << 40
"""No honest time of a file is beyond this, and later ones cannot be set."""
_PAGES = MAX_FILES // PAGE + 1

Where = Callable[[TaskRef], tuple[Connection, str, str] | None]
"""The connection, and the namespace and name of a task's pod; None if it has none. Raises Unreachable."""


class PodOutputs:
    """Implements `ports.capabilities.TaskOutputs`. `gone` is called for a task whose pod went before its outputs were
    collected: nobody will ask for it again."""

    def __init__(self, where: Where, gone: Callable[[TaskRef], None]) -> None:
        self._where, self._gone = where, gone

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        found = self._where(task)
        if found is None:
            raise self._lost(task)
        try:
            async with linked(*found, KEEPER) as link:
                return await collected_over(link, task.task_id, patterns, target, admit)
        except Missing:
            raise self._lost(task) from None
        except Denied:
            raise BackendError("the account of the cluster may not create pods/exec") from None
        except Refused as error:
            raise BackendError(f"its pod gives no outputs: {error.message}") from None
        except Unreachable as error:  # no other connection is made by itself, so that it has to be tried again
            raise BackendError(error.message) from None

    def _lost(self, task: TaskRef) -> Unreachable:
        self._gone(task)
        return Unreachable("its pod is gone, and its outputs with it")


async def collected_over(
    link: PodLink, task_id: str, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
) -> Collected:
    pace = Pace()
    return await OutputCollection(_checked(link), lambda _: pace).collect(task_id, "", patterns, target, admit)


async def stop_beside(connection: Connection, namespace: str, pod: str, grace_s: float) -> bool:
    """Stop the task and leave its pod. Whether that was possible."""
    try:
        async with asyncio.timeout(_STOP_S), linked(connection, namespace, pod, KEEPER) as link:
            await link.ask("stop", grace_s=max(1, math.ceil(grace_s)))
    except (MusterError, TimeoutError):
        return False
    return True


async def may_execute(connection: Connection, namespace: str | None) -> bool:
    """Whether the account may run commands in pods. API servers ask for one of these rights, or for both."""
    return all([await connection.may(verb, PODS, "exec", namespace=namespace) for verb in ("get", "create")])


def has_keeper(pod: Mapping[str, Any]) -> bool:
    """Whether the pod stays after the end of its task, for its outputs."""
    return any(one.get("name") == KEEPER for one in pod["spec"].get("containers") or ())


def overdue(pods: Iterable[Mapping[str, Any]], now: float) -> Iterator[TaskRef]:
    """Tasks whose outputs could not be collected for a day. Their pods still hold what they were given."""
    for pod in pods:
        if not has_keeper(pod):
            continue
        for one in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = (one.get("state") or {}).get("terminated") or {}
            ended_at = instant(ended.get("finishedAt"))
            if one.get("name") == MAIN and ended_at is not None and now - ended_at > _KEPT_S:
                yield TaskRef(task_of(pod), handle_of(pod))


def keeps_outputs(pod: Mapping[str, Any]) -> bool:
    """Whether the pod runs both its task and the container that keeps its outputs."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    running = {one.get("name") for one in statuses if "running" in (one.get("state") or {})}
    return {MAIN, KEEPER} <= running


def _checked(link: PodLink) -> Callable[..., Awaitable[Message]]:
    """Asks for lists and pieces, and takes no answer that is larger or longer than an honest one."""
    pages = 0

    async def ask(node: str, op: str, /, **arguments: object) -> Message:
        nonlocal pages
        told = await link.ask(op, **arguments)
        if op == "outputs_list":
            pages += 1
            is_good = pages <= _PAGES and _is_page(told)
        else:
            data, limit = told.get("data"), arguments.get("limit")
            is_good = isinstance(data, bytes) and isinstance(limit, int) and len(data) <= limit
        if not is_good:
            raise BackendError("the pod answers nonsense about its outputs")
        return told

    return ask


def _is_page(told: Message) -> bool:
    files = told.get("files")
    return (
        isinstance(files, list)
        and len(files) <= PAGE
        and all(map(_is_file, files))
        and isinstance(told.get("more"), bool)
        and all(_is_count(told.get(name)) for name in ("skipped", "too_deep"))
    )


def _is_file(one: object) -> bool:
    if not isinstance(one, Mapping):
        return False
    mtime = one.get("mtime")
    is_time = isinstance(mtime, int | float) and abs(mtime) < _LATEST_S
    return _is_text(one.get("path")) and _is_text(one.get("version")) and is_time and _is_count(one.get("size"))


def _is_text(value: object) -> bool:
    """Whether it can be written as UTF-8, which JSON does not promise."""
    return isinstance(value, str) and value == value.encode("utf-8", "replace").decode("utf-8")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
