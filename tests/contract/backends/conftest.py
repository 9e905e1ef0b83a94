"""The harnesses that the suite runs over. A new backend is added to `HARNESSES`."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from scripts.kube.cluster import Cluster
from tests.contract.backends.fake_harness import FakeHarness
from tests.contract.backends.harness import Harness
from tests.contract.backends.kube_harness import KubeHarness, KubeSite, kube_site
from tests.contract.backends.local_harness import LocalHarness
from tests.contract.backends.muster_harness import MusterHarness, other_server
from tests.contract.backends.observing import Site, opened
from tests.contract.backends.queue_harness import QueueHarness
from tests.contract.backends.slurm_harness import SlurmHarness
from tests.contract.backends.ssh_harness import SshHarness
from tests.parts.host import Host
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_sharing import SharedSlurm

Make = Callable[[Path, pytest.FixtureRequest], Harness]

HARNESSES: Mapping[str, Make] = {
    "fake": lambda folder, _: FakeHarness(folder),
    "toy-engine": lambda folder, _: QueueHarness(folder),
    "local": lambda folder, _: LocalHarness(folder),
    "ssh": lambda folder, request: SshHarness(folder, request.getfixturevalue("contract_host")),
    "muster": lambda folder, request: MusterHarness(folder, request.getfixturevalue("contract_muster")),
    "kubernetes": lambda folder, request: KubeHarness(folder, request.getfixturevalue("contract_kube")),
    "slurm": lambda folder, request: SlurmHarness(folder, request.getfixturevalue("contract_slurm")),
    "slurm-unshared": lambda folder, request: SlurmHarness(
        folder, request.getfixturevalue("contract_slurm"), is_shared=False
    ),
}
_MARKS = {
    "fake": pytest.mark.fast,
    "kubernetes": pytest.mark.kube,
    "slurm": pytest.mark.slurm,
    "slurm-unshared": pytest.mark.slurm,
}


@pytest.fixture(scope="session")
def contract_host() -> Iterator[Host]:
    """One host for all tests of a worker; each has folders of its own there, and leaves it on and reachable."""
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)
    with HostPool(1) as pool:
        yield pool[0]


@pytest.fixture(scope="session")
def contract_muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """One server for all tests of a worker, each of which leaves it running and without jobs."""
    with other_server(tmp_path_factory.mktemp("other") / "home") as server:
        yield server


@pytest.fixture(scope="session")
def contract_kube(kube_cluster: Cluster) -> Iterator[KubeSite]:
    with kube_site(kube_cluster) as site:
        yield site


@pytest.fixture
def contract_slurm(shared_slurm: SharedSlurm) -> RealSlurm:
    """One cluster for all tests of a worker, each of which leaves it empty and with a controller that runs."""
    return shared_slurm.cluster()


@pytest.fixture(params=[pytest.param(kind, marks=_MARKS.get(kind, ())) for kind in HARNESSES])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    made = HARNESSES[request.param](tmp_path, request)
    yield made
    made.close()


@pytest.fixture
async def site(harness: Harness) -> AsyncIterator[Site]:
    """A started backend over the harness, which answers."""
    async with opened(harness) as site:
        yield site
