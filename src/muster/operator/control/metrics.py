"""The metrics of the operator, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

_PREFIX = "muster_operator"


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.reconciles = Counter(
            f"{_PREFIX}_reconciles", "How often a job was looked at, by result.", ["result"], registry=self.registry
        )
        self.reconcile_seconds = Histogram(
            f"{_PREFIX}_reconcile_seconds", "How long a look at a job took.", registry=self.registry
        )
        self.writes = Counter(
            f"{_PREFIX}_api_writes", "Writes to the API server.", ["verb", "resource"], registry=self.registry
        )
        self.waiting = Gauge(f"{_PREFIX}_queue_length", "Jobs that wait to be looked at.", registry=self.registry)
        self.jobs = Gauge(f"{_PREFIX}_jobs", "PaddleJobs that exist.", registry=self.registry)
        self.pods = Gauge(f"{_PREFIX}_pods", "Pods of PaddleJobs that exist.", registry=self.registry)
        self.is_leader = Gauge(f"{_PREFIX}_is_leader", "1 if this replica acts, else 0.", registry=self.registry)
