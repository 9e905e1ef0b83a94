"""The Kubernetes clusters of one test run: all its processes share them, and its first process removes them at the end.

A run that is killed leaves its clusters to the next one, which removes them. Set MUSTER_KUBE_TEST to the folder of a
running cluster (that of `make kube-up`, say) to use it instead: it is neither started nor removed then. The variable
MUSTER_KUBE_FAULTS does the same for the cluster of which tests kill parts.
"""

import contextlib
import os
from pathlib import Path

from scripts.kube.cluster import Cluster, remove_cluster, running_cluster, start_cluster
from scripts.kube.processes import ProcessId
from scripts.kube.requirements import ClusterUnavailable

_SHARED = "shared"
_FAULTS = "faults"
_EMPTY = "empty"


def shared_cluster() -> Cluster:
    """The cluster of all tests. Raises ClusterUnavailable where none can run."""
    return _given("MUSTER_KUBE_TEST") or _start(_SHARED)


def disturbed_cluster() -> Cluster:
    """A second cluster, for tests that kill its parts."""
    return _given("MUSTER_KUBE_FAULTS") or _start(_FAULTS)


def empty_cluster() -> Cluster:
    """A third cluster, for tests that install the operator and the definition of PaddleJob, and remove both."""
    return _given("MUSTER_KUBE_EMPTY") or _start(_EMPTY)


def remove_clusters() -> None:
    """Remove the clusters of the run whose first process this is."""
    for name in (_SHARED, _FAULTS, _EMPTY):
        with contextlib.suppress(FileNotFoundError):
            remove_cluster(_root(os.getpid(), name))


def _given(variable: str) -> Cluster | None:
    folder = os.environ.get(variable)
    if folder is None:
        return None
    cluster = running_cluster(Path(folder))
    if cluster is None:
        raise ClusterUnavailable(f"{variable} names {folder}, where no cluster runs")
    return cluster


def _start(name: str) -> Cluster:
    first = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    return start_cluster(_root(first, name), ProcessId.of(first))


def _root(first_process: int, name: str) -> Path:
    return Path(f"/tmp/muster-kube-{name}-{first_process}")
