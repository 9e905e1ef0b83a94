"""A real Slurm cluster for the tests of this folder, and servers that have it.

They are those of all tests of a worker, because they take longer to start than most tests to run.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guides.slurm_machine import slurm_cluster
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, SlurmOptions, slurm_unavailable
from tests.parts.slurm_accounting import accounting_unavailable
from tests.parts.slurm_server import serving_slurm
from tests.parts.slurm_sharing import SharedSlurm, mend_cluster


@pytest.fixture
def slurm_folder() -> Iterator[Path]:
    """A short path that other users reach, unlike pytest's `tmp_path`."""
    if missing := slurm_unavailable():
        pytest.skip(missing)
    with tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def accounting_folder(slurm_folder: Path) -> Path:
    """For a cluster with accounting."""
    if missing := accounting_unavailable():
        pytest.skip(missing)
    return slurm_folder


@pytest.fixture
def slurm(shared_slurm: SharedSlurm) -> Iterator[RealSlurm]:
    """A cluster without jobs. The test may kill parts of it."""
    cluster = shared_slurm.cluster()
    yield cluster
    mend_cluster(cluster)


@pytest.fixture
def strict_slurm(shared_slurm: SharedSlurm) -> Iterator[RealSlurm]:
    """Kills jobs for memory."""
    cluster = shared_slurm.cluster(SlurmOptions(kills_for_memory=True))
    yield cluster
    mend_cluster(cluster)


@pytest.fixture
def slurm_server(shared_slurm: SharedSlurm, slurm: RealSlurm) -> Iterator[MusterServer]:
    """A server with that cluster and without live jobs. The test may kill it, and may not change its cluster file."""
    server = shared_slurm.server(slurm, "shared")
    yield server
    shared_slurm.mend_server(server, slurm)


@pytest.fixture
def unshared_server(shared_slurm: SharedSlurm, slurm: RealSlurm) -> Iterator[MusterServer]:
    """Like `slurm_server`, with nodes that share no folder with the login node."""
    server = shared_slurm.server(slurm, "unshared", sharedFolder=None)
    yield server
    shared_slurm.mend_server(server, slurm)


@pytest.fixture(scope="session")
def pool() -> Iterator[HostPool]:
    """The login node of `remote`. A test leaves it on and reachable."""
    if missing := hosts_unavailable() or slurm_unavailable():
        pytest.skip(missing)
    with HostPool(1) as hosts:
        yield hosts


@pytest.fixture(scope="session")
def shared_remote(pool: HostPool) -> Iterator[RealSlurm]:
    with slurm_cluster(pool) as slurm:
        yield slurm


@pytest.fixture
def remote(shared_remote: RealSlurm) -> Iterator[RealSlurm]:
    """A cluster without jobs, whose login node is another machine."""
    yield shared_remote
    mend_cluster(shared_remote)


@pytest.fixture
def own_slurm_server(slurm: RealSlurm, tmp_path: Path) -> Iterator[MusterServer]:
    """A server for one test alone."""
    with serving_slurm(tmp_path / "home", slurm) as server:
        yield server
