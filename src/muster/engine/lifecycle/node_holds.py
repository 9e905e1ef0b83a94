"""Holds a node back that fails tasks for reasons of its own, such as a full disk, so that it does not eat every job.

A held node gets no new tasks and has an alert. It comes back by itself after a while, which doubles with each further
failure; the first task that succeeds there ends the doubling. Holds are kept in memory: a node is rarely broken for
ever, and after a restart one failure finds it again.
"""

from collections.abc import Sequence

import structlog

from muster.domain.events import Event
from muster.domain.failures.container_failures import REGISTRY
from muster.domain.failures.exit_causes import LAUNCH_FAILED
from muster.domain.failures.faults import Fault
from muster.domain.tasks import Task, TaskFailed, TaskSucceeded
from muster.engine.context import Context
from muster.engine.state.node_failures import NodeHold
from muster.lib.backoff import exponential
from muster.lib.quantities import format_duration
from muster.ports.store import Change

_log = structlog.get_logger("engine.node_holds")
LONGEST_S = 600.0
CERTAIN = frozenset({"disk-full", "prolog"})
"""Faults that leave no doubt about the node."""
ALLOWED = 2
"""How many failures in a row are forgiven, except for those that leave no doubt."""
_NOT_THE_NODE = frozenset({"port-in-use", "no-ports", "too-many-tasks", "node-lost", "connection-lost", REGISTRY})
"""Faults of the platform that say nothing about the node on which the task failed."""


def note_ends(context: Context, cluster: str, tasks: Sequence[Task]) -> None:
    """Learn from the end of an attempt which of its nodes work."""
    if context.engine(cluster) is not None:
        return  # the engine looks after its nodes itself
    for task in tasks:
        node = (cluster, task.placement.node)
        if isinstance(task.state, TaskSucceeded) and node not in context.node_holds:
            context.node_failures.pop(node, None)
    blamed = {
        task.placement.node: task.state.fault
        for task in tasks
        if isinstance(task.state, TaskFailed) and _is_its_own(task.state.fault)
    }
    for name, fault in blamed.items():
        _failed(context, cluster, name, _shown(fault), is_certain=fault.code in CERTAIN)


def note_problem(context: Context, cluster: str, node: str, problem: str) -> None:
    """Hold a node that is not in order, although the task that has ended there may have succeeded."""
    _failed(context, cluster, node, problem, is_certain=True)


def release(context: Context, cluster: str, node: str) -> None:
    """Give the node tasks again. How often it failed is remembered until a task succeeds there."""
    if context.node_holds.pop((cluster, node), None) is None:
        return
    _log.info("node is no longer held back", cluster=cluster, node=node)
    _changed(context, cluster, node, "over", "")


def _is_its_own(fault: Fault) -> bool:
    return not fault.counts_against_retries and fault.code not in _NOT_THE_NODE


def _failed(context: Context, cluster: str, node: str, cause: str, *, is_certain: bool) -> None:
    key = (cluster, node)
    failures = context.node_failures[key] = context.node_failures.get(key, 0) + 1
    if key in context.node_holds or (not is_certain and failures <= ALLOWED):
        return
    tries = failures if is_certain else failures - ALLOWED
    hold_s = exponential(tries, first_s=context.hold_node_s, limit_s=LONGEST_S)
    hold = NodeHold(context.clock() + hold_s, f"held back for {format_duration(hold_s)}: {cause}")
    context.node_holds[key] = hold
    _log.warning("node is held back", cluster=cluster, node=node, cause=cause, seconds=hold_s)
    _changed(context, cluster, node, "", hold.reason)

    async def come_back() -> None:
        if context.node_holds.get(key) is hold:
            release(context, cluster, node)

    context.later(hold_s, come_back, f"hold {node}")


def _shown(fault: Fault) -> str:
    """The cause as everybody may read it: what a node said about a task may name its job."""
    return "it could not start a task" if fault.code == LAUNCH_FAILED.code else fault.cause


def _changed(context: Context, cluster: str, node: str, state: str, message: str) -> None:
    found = next((one for one in context.nodes(cluster) if one.name == node), None)
    if found is not None and cluster in context.clusters:
        context.clusters[cluster].node_changed(found.in_service())
    context.wake.set()
    data = {"name": node, "cluster": cluster, "state": state, "message": message or "the node is used again"}
    event = Event("node.alert", context.clock(), data=data)
    context.spawn(context.apply(Change(events=[event])), f"alert of {node}")
