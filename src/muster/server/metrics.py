"""Prometheus metrics of requests, jobs by state, nodes and exported points. They never name people or jobs."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from muster.domain.jobs import JOB_STATES
from muster.engine.context import Context
from muster.server.node_metrics import node_metrics
from muster.version import __version__

_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "muster_http_requests_total", "Requests answered.", ("method", "status"), registry=self._registry
        )
        self._latency = Histogram(
            "muster_http_request_seconds",
            "Time to the first byte of the answer.",
            buckets=_LATENCY_BUCKETS,
            registry=self._registry,
        )
        self._jobs = Gauge("muster_jobs", "Jobs by state.", ("state",), registry=self._registry)
        self._nodes = Gauge("muster_nodes", "Nodes by state.", ("cluster", "state"), registry=self._registry)
        self._exports = Gauge(
            "muster_export_points", "Points for InfluxDB by what became of them.", ("state",), registry=self._registry
        )
        self._wrong = Gauge(
            "muster_cluster_file_problems",
            "Problems of cluster files.",
            registry=self._registry,
        )
        info = Gauge("muster_info", "The server's version.", ("version",), registry=self._registry)
        info.labels(__version__).set(1)

    def answered(self, method: str, status: int, seconds: float) -> None:
        self._requests.labels(method, str(status)).inc()
        self._latency.observe(seconds)

    async def render(self, context: Context, clusters: Sequence[str]) -> bytes:
        """`clusters` are those whose nodes the caller may know of."""
        counts = await context.store.counts()
        for state in JOB_STATES:
            self._jobs.labels(state).set(counts.get(state, 0))
        self._nodes.clear()
        for cluster in clusters:
            if (backend := context.backends.get(cluster)) is not None:
                for node in backend.nodes():
                    self._nodes.labels(cluster, str(node.state)).inc()
        for state in ("sent", "dropped", "waiting"):
            self._exports.labels(state).set(getattr(context.exports, state))
        self._wrong.set(len(context.config.problems))
        return generate_latest(self._registry) + await node_metrics(context, clusters)
