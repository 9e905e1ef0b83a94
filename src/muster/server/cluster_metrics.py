"""Prometheus metrics of clusters, of their queues and of the server itself: what alert rules and dashboards need
besides the figures of nodes."""

import asyncio
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence

from muster.domain.alerting.alert_records import AlertPhase
from muster.engine.context import Context
from muster.engine.requests.work_figures import allocated_gpus
from muster.engine.state.open_jobs import Entry
from muster.ports.alerting import AlertSource
from muster.ports.exporting import QueueFigures
from muster.server.metric_families import Described, Families
from muster.server.metric_readers import Reader

_CLUSTER = ("cluster",)
_QUEUE = ("cluster", "virtual_cluster")
METRICS: dict[str, Described] = {
    "muster_cluster_ready": Described("1 while the cluster has a node that takes jobs.", _CLUSTER),
    "muster_cluster_jobs": Described("Jobs that have not ended, by state.", (*_QUEUE, "state")),
    "muster_cluster_longest_wait_seconds": Described("How long the job that waits longest has waited.", _QUEUE),
    "muster_cluster_gpus": Described("GPUs of the nodes that can be reached.", _CLUSTER),
    "muster_cluster_gpus_allocated": Described("GPUs that tasks have.", _CLUSTER),
    "muster_alerts_firing": Described(
        "Alerts that fire by the server's own rules, and are neither silenced nor inhibited.",
        ("cluster", "rule", "severity"),
    ),
    "muster_server_disk_total_bytes": Described("Disk of the server's home folder."),
    "muster_server_disk_free_bytes": Described("Disk of the server's home folder that is free."),
    "muster_certificate_expires_timestamp_seconds": Described(
        "When the server's certificate ends; unknown if it has none."
    ),
    "muster_log_server_failing_seconds": Described(
        "How long sending to the log server has failed, 0 while it works; unknown if there is none."
    ),
}


async def cluster_metrics(
    context: Context, queues: Sequence[QueueFigures], alerting: AlertSource, reader: Reader
) -> Families:
    families = Families(METRICS)
    _add_clusters(families, context, reader)
    _add_queues(families, queues, reader)
    await _add_alerts(families, context, reader)
    await _add_server(families, context, alerting)
    return families


def _add_clusters(families: Families, context: Context, reader: Reader) -> None:
    by_cluster: dict[str, list[Entry]] = defaultdict(list)
    for entry in context.open_jobs.entries():
        by_cluster[entry.job.cluster].append(entry)
    for cluster in reader.clusters:
        if cluster not in context.backends:
            continue
        nodes = context.schedulable_nodes(cluster)
        families.add("muster_cluster_ready", (cluster,), int(any(node.is_usable for node in nodes)))
        reachable = sum(len(node.capacity.devices) for node in nodes if node.is_reachable)
        families.add("muster_cluster_gpus", (cluster,), reachable)
        families.add("muster_cluster_gpus_allocated", (cluster,), allocated_gpus(by_cluster[cluster]))


def _add_queues(families: Families, queues: Sequence[QueueFigures], reader: Reader) -> None:
    """An empty queue has a wait of 0, so that a dashboard has its line also then."""
    counts = Counter[tuple[str, str, str]]()
    waits = dict.fromkeys(((cluster, "") for cluster in reader.clusters), 0.0)
    for queue in queues:
        if queue.cluster in reader.clusters:
            labels = (queue.cluster, reader.virtual_cluster(queue.virtual_cluster))
            for state, count in queue.jobs:
                counts[(*labels, state)] += count
            waits[labels] = max(waits.get(labels, 0.0), queue.longest_wait_s)
    for of_state, count in counts.items():
        families.add("muster_cluster_jobs", of_state, count)
    for labels, wait_s in waits.items():
        families.add("muster_cluster_longest_wait_seconds", labels, wait_s)


async def _add_alerts(families: Families, context: Context, reader: Reader) -> None:
    known = {"", *reader.clusters}
    counts = Counter(
        (record.subject.cluster, record.rule, str(record.severity))
        for record in await context.store.open_alerts()
        if record.phase is AlertPhase.FIRING and not record.silenced_by and not record.inhibited_by
    )
    for labels, count in counts.items():
        if labels[0] in known:
            families.add("muster_alerts_firing", labels, count)


async def _add_server(families: Families, context: Context, alerting: AlertSource) -> None:
    try:
        disk = await asyncio.to_thread(shutil.disk_usage, context.logs.parent)
    except OSError:
        pass  # the metrics of the disk are then left out, and its alert comes from elsewhere
    else:
        families.add("muster_server_disk_total_bytes", (), disk.total)
        families.add("muster_server_disk_free_bytes", (), disk.free)
    ends_at = await asyncio.to_thread(alerting.certificate_ends_at)
    families.add("muster_certificate_expires_timestamp_seconds", (), ends_at)
    delivery = context.log_delivery
    if delivery.address:
        since = delivery.failing_since
        failing_s = 0.0 if since is None else max(0.0, context.clock() - since)
        families.add("muster_log_server_failing_seconds", (), round(failing_s, 3))
