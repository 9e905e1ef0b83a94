"""Prometheus metrics: of requests, jobs by state, exported points and records for the log server here, and of clusters,
nodes and jobs in the modules that are put together here."""

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from muster.domain.jobs import JOB_STATES
from muster.engine.context import Context
from muster.engine.requests.work_figures import work_figures
from muster.ports.alerting import AlertSource
from muster.server import cluster_metrics, node_metrics, work_metrics
from muster.server.metric_families import Described, Filled
from muster.server.metric_readers import Reader
from muster.version import __version__

_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
OWN: dict[str, Described] = {
    "muster_info": Described("The server's version.", ("version",)),
    "muster_http_requests_total": Described("Requests answered.", ("method", "status"), kind="counter"),
    "muster_http_request_seconds": Described("Time to the first byte of the answer.", kind="histogram"),
    "muster_jobs": Described("Jobs by state.", ("state",)),
    "muster_nodes": Described("Nodes by state.", ("cluster", "state")),
    "muster_export_points": Described("Points for InfluxDB by what became of them.", ("state",)),
    "muster_log_records": Described("Records for the log server by what became of them.", ("state",)),
    "muster_cluster_file_problems": Described("Problems of cluster files."),
}
GROUPS: dict[str, dict[str, Described]] = {
    "The server": OWN,
    "Clusters, queues and alerts": cluster_metrics.METRICS,
    "Nodes and GPUs": node_metrics.METRICS,
    "Jobs and users": work_metrics.METRICS,
}
"""All metrics, as the reference has them."""


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        requests, latency = "muster_http_requests_total", "muster_http_request_seconds"
        self._requests = Counter(requests, OWN[requests].help, OWN[requests].labels, registry=self._registry)
        self._latency = Histogram(latency, OWN[latency].help, buckets=_LATENCY_BUCKETS, registry=self._registry)
        self._jobs = self._gauge("muster_jobs")
        self._nodes = self._gauge("muster_nodes")
        self._exports = self._gauge("muster_export_points")
        self._records = self._gauge("muster_log_records")
        self._wrong = self._gauge("muster_cluster_file_problems")
        self._gauge("muster_info").labels(__version__).set(1)

    def answered(self, method: str, status: int, seconds: float) -> None:
        self._requests.labels(method, str(status)).inc()
        self._latency.observe(seconds)

    async def render(self, context: Context, alerting: AlertSource, reader: Reader) -> bytes:
        counts = await context.store.counts()
        for state in JOB_STATES:
            self._jobs.labels(state).set(counts.get(state, 0))
        self._nodes.clear()
        for cluster in reader.clusters:
            if (backend := context.backends.get(cluster)) is not None:
                for node in backend.nodes():
                    self._nodes.labels(cluster, str(node.state)).inc()
        for state in ("sent", "dropped", "waiting"):
            self._exports.labels(state).set(getattr(context.exports, state))
        for state in ("sent", "refused", "dropped", "waiting"):
            self._records.labels(state).set(getattr(context.log_delivery, state))
        self._wrong.set(len(context.config.problems))
        own = generate_latest(self._registry)
        figures = work_figures(context)
        clusters = Filled(await cluster_metrics.cluster_metrics(context, figures.queues, alerting, reader))
        jobs = Filled(work_metrics.work_metrics(figures, reader))
        parts = await asyncio.gather(
            asyncio.to_thread(generate_latest, clusters),
            asyncio.to_thread(generate_latest, jobs),
            node_metrics.node_metrics(context, reader.clusters),
        )
        return b"".join((own, *parts))

    def _gauge(self, name: str) -> Gauge:
        return Gauge(name, OWN[name].help, OWN[name].labels, registry=self._registry)
