"""One round: so many jobs of one shape at once, from their creation until the last of them has ended."""

import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.kube.audit import AuditLog
from bench.kube.jobs import COLLECTIVE, Shape
from bench.kube.operators import Operator, RunningOperator
from bench.kube.phases import watched_phases
from bench.kube.stages import pod_stages
from scripts.kube.cluster import Cluster, remove_cluster, start_cluster
from scripts.kube.fake_nodes import start_fake_nodes
from scripts.kube.processes import ProcessId
from tests.parts.kube import Kube, KubeNamespace, new_namespace

_FAKE_NODES = 20
_CLIENTS = 8
_JOB_TIMEOUT_S = 120.0
# After the last job has ended, an operator may still write: events, cleaning, a late status.
_SETTLE_S = 3.0


@dataclass(frozen=True)
class Round:
    jobs: int
    seconds: float
    """From the first creation to the last end."""
    writes: Counter[str]
    backward: int
    courses: set[tuple[str, ...]]
    cpu_s: float
    peak_bytes: int

    @property
    def writes_per_job(self) -> float:
        return self.writes.total() / self.jobs

    @property
    def cpu_s_per_job(self) -> float:
        return self.cpu_s / self.jobs


class Bench:
    """A cluster with fake nodes and one operator that has nothing to do yet."""

    def __init__(self, cluster: Cluster, operator: RunningOperator) -> None:
        self._kube = Kube(cluster)
        self._audit = AuditLog(cluster.audit_log)
        self._operator = operator

    def run(self, shape: Shape, jobs: int) -> Round:
        namespace = new_namespace(self._kube, f"bench-{secrets.token_hex(3)}")
        since, before = self._audit.position(), self._operator.cost()
        with watched_phases(self._kube, namespace.name) as watch:
            began = time.monotonic()
            _create_all(namespace, shape, jobs)
            ended = watch.await_ends(jobs, _JOB_TIMEOUT_S + 2 * jobs)
            time.sleep(_SETTLE_S)
            after = self._operator.cost()
            found = Round(
                jobs,
                ended - began,
                self._audit.writes(since, namespace.name),
                watch.backward(),
                watch.courses(),
                after.cpu_s - before.cpu_s,
                after.peak_bytes,
            )
        # What one round leaves must not be cleaned up, and paid for, during the next.
        namespace.remove()
        namespace.await_removed(_JOB_TIMEOUT_S + jobs)
        return found


@contextmanager
def ready_bench(operator: Operator) -> Iterator[Bench]:
    """A cluster of its own, removed at the end. The operator has served one job already: its start is not measured."""
    owner = ProcessId.of(os.getpid())
    root = Path(f"/tmp/muster-kube-bench-{owner.pid}")
    try:
        cluster = start_cluster(root, owner, operator.node_names)
        start_fake_nodes(cluster, _FAKE_NODES, pod_stages(operator.released_by))
        with operator.running(cluster) as running:
            bench = Bench(cluster, running)
            bench.run(COLLECTIVE, 1)
            yield bench
    finally:
        remove_cluster(root)


def _create_all(namespace: KubeNamespace, shape: Shape, jobs: int) -> None:
    with ThreadPoolExecutor(_CLIENTS) as clients:
        for _ in clients.map(namespace.create, [shape.job(f"job-{index}") for index in range(jobs)]):
            pass
