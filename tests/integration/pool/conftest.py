"""Real SSH hosts for the tests of a file; they skip, with the reason, where no hosts can be made."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer


@pytest.fixture(scope="session")
def can_make_hosts() -> None:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    """Four plain hosts. A test leaves them on, reachable and unshared; one that cannot makes a pool of its own."""
    with HostPool(4) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    """Not started yet. A file whose tests share one, or need another account, has its own."""
    made = MusterServer(tmp_path / "home")
    yield made
    made.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the SSH servers of its hosts have logged."""
    report = yield
    pools = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, HostPool)]
    if report.failed:
        for name, log in (found for pool in pools for found in pool.sshd_logs.items()):
            report.sections.append((f"sshd of {name}", log[-3000:]))
    return report


@pytest.fixture(scope="session")
def fragile_pool(can_make_hosts: None) -> Iterator[HostPool]:
    """Five hosts with small disks, one more than most gangs need, for tests that break them and mend them again."""
    with HostPool([HostOptions(disk_mib=64, fake_gpus="2xA100")] * 5) as made:
        yield made


@pytest.fixture(scope="session")
def fragile_server(fragile_pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """Of those hosts, for tests that kill it and start it again. `faults.scene` starts it and says what it serves."""
    server = MusterServer(tmp_path_factory.mktemp("fragile") / "home")
    yield server
    server.stop()
