"""What all suites share: golden files, changed only by `pytest --update-golden`, and a real server."""

import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from scripts.kube.cluster import Cluster
from scripts.kube.requirements import ClusterUnavailable
from tests.parts.kube_session import remove_clusters, shared_cluster
from tests.parts.postgres import NewDatabase, PostgresMissing, running_postgres
from tests.parts.server import MusterServer, running_server
from tests.parts.slurm import slurm_unavailable
from tests.parts.slurm_sharing import SharedSlurm, sharing_slurm

Golden = Callable[[Path, str], None]


def pytest_configure() -> None:
    """An example that takes long on a busy machine is no failure: hypothesis would call it one after 0.2 s. And a run
    is the same everywhere: who looks for new examples asks for `--hypothesis-profile=searching`."""
    settings.register_profile(
        "searching",
        settings(),
        deadline=None,
        max_examples=4000,
        stateful_step_count=60,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # explaining would trace every line
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(
        "patient", settings(), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("patient")
    # A shell that starts the tests in the background has them ignore interrupts, and what they start would do so, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that at the end no worker is busy with a long test that it has just begun
    while the others have nothing left to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        remove_clusters()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(path, text)`: the file holds exactly this text."""
    update = bool(request.config.getoption("--update-golden"))

    def check(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing; write it with pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture(scope="session")
def muster_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """One server for all tests of a worker. Tests use names of their own and leave it running."""
    with running_server(tmp_path_factory.mktemp("muster"), {"MUSTER_LOG_FILE": "server.log"}) as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[MusterServer]:
    """A server for one test alone, which may kill it."""
    with running_server(tmp_path / "home") as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[NewDatabase]:
    """A private PostgreSQL for a worker's tests: makes a fresh database for each that asks."""
    with tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True) as base:
        try:
            with running_postgres(Path(base)) as new_database:
                yield new_database
        except PostgresMissing as missing:
            pytest.skip(str(missing))


@pytest.fixture(scope="session")
def kube_cluster() -> Cluster:
    """A real Kubernetes, which all tests of this run share: they use namespaces of their own and disturb nothing."""
    try:
        return shared_cluster()
    except ClusterUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def shared_slurm() -> Iterator[SharedSlurm]:
    """The Slurm clusters of this worker, which start when a test asks for them."""
    if missing := slurm_unavailable():
        pytest.skip(missing)
    with sharing_slurm() as shared:
        yield shared
