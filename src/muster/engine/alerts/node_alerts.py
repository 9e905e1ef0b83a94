"""Alerts of nodes and their GPUs."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType
from muster.domain.nodes import Node, NodeState
from muster.engine.alerts.concerned import Concerned
from muster.engine.alerts.disk_space import disk_alert
from muster.engine.cluster_access import visible_clusters
from muster.engine.context import Context
from muster.engine.nodes.hidden_folders import without_hidden_folders

_RECONNECT = "check that the machine runs and is on the network; `muster node reconnect {}` tries again at once"
_ADMINS_KNOW = "its tasks may still run; admins see why it cannot be reached"


def node_alerts(context: Context, concerned: Concerned) -> Iterator[Alert]:
    for cluster in visible_clusters(context, concerned.user):
        usage = context.backends[cluster].capabilities.latest_usage()
        for known in context.nodes(cluster):
            node = without_hidden_folders(known, context.backends[cluster].settings, concerned.user)
            yield from _of_node(context, concerned, node)
            sample = usage.get(node.name)
            if sample is not None and node.is_reachable:
                yield from _disk(concerned, node, sample.metrics)


def _of_node(context: Context, concerned: Concerned, node: Node) -> Iterator[Alert]:
    is_mine = concerned.by_node((node.cluster, node.name))
    subject = Subject(SubjectType.NODE, node.name, node.cluster)
    if node.state is NodeState.UNREACHABLE:
        yield _unreachable(context, concerned, node)
    elif node.hold and node.state is NodeState.CORDONED:
        message = f"node {node.name} gets no new tasks: {node.hold}"
        advice = f"`muster describe node/{node.name}` shows more; `muster node uncordon {node.name}` uses it at once"
        yield Alert(AlertKind.NODE_HELD, Severity.WARNING, subject, message, advice, node.since, concerns_me=is_mine)
    bad = [device for device in node.capacity.devices if device.out_of_service]
    for device in bad:
        gpu = Subject(SubjectType.GPU, f"{node.name}/{device.index}", node.cluster)
        message = f"GPU {device.index} of node {node.name} is out of service: {device.out_of_service}"
        numbers: dict[str, int | float | str] = {"index": device.index, "model": device.model, "node": node.name}
        yield Alert(AlertKind.GPU_OUT_OF_SERVICE, Severity.WARNING, gpu, message, numbers=numbers, concerns_me=is_mine)
    told = {node.hold, *(f"GPU {device.index} is out of service: {device.out_of_service}" for device in bad)}
    for problem in dict.fromkeys(node.alerts):
        if problem not in told:
            yield Alert(
                AlertKind.NODE_PROBLEM,
                Severity.WARNING,
                subject,
                f"node {node.name}: {problem}",
                f"see `muster describe node/{node.name}`",
                concerns_me=is_mine,
                part=problem,
            )


def _unreachable(context: Context, concerned: Concerned, node: Node) -> Alert:
    """Only admins learn why: the reason may tell how the server logs in. An engine describes its nodes itself."""
    key = (node.cluster, node.name)
    tasks = concerned.tasks[key]
    is_told = concerned.user.is_admin or context.engine(node.cluster) is not None
    why = f": {node.note}" if node.note and is_told else ""
    return Alert(
        AlertKind.NODE_UNREACHABLE,
        Severity.CRITICAL if tasks else Severity.WARNING,
        Subject(SubjectType.NODE, node.name, node.cluster),
        f"node {node.name} cannot be reached{why}",
        _RECONNECT.format(node.name) if concerned.user.is_admin else _ADMINS_KNOW,
        node.since,
        {"tasks": tasks},
        concerned.by_node(key),
    )


def _disk(concerned: Concerned, node: Node, metrics: Mapping[str, Any]) -> Iterator[Alert]:
    found = disk_alert(
        AlertKind.NODE_DISK,
        Subject(SubjectType.NODE, node.name, node.cluster),
        f"the disk of node {node.name}",
        int(metrics.get("disk_used_bytes") or 0),
        int(metrics.get("disk_total_bytes") or 0),
        concerns_me=concerned.by_node((node.cluster, node.name)),
    )
    if found is not None:
        yield found
