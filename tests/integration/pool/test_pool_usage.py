"""What hosts of a pool use, as people are shown it: of hosts that answer, and of none else."""

from collections.abc import Iterator

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import on_hosts, serving, wait_for_nodes


@pytest.fixture(scope="module")
def server(pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    times = {"unreachableAfter": "3s", "lostAfter": "10m"}
    with serving(tmp_path_factory.mktemp("home"), pool, pool.hosts[:2], **times) as made:
        yield made


def test_a_host_that_is_away_is_not_shown_with_what_it_used_before(server: MusterServer, pool: HostPool) -> None:
    job = server.submit(on_hosts("busy", 2, "sleep 600", grace="0s"))
    server.wait_for_state(job["id"], "Running")
    away, here = pool[0].name, pool[1].name
    assert any(shown(server) == {away, here} for _ in polls(60))
    pool[0].cut()
    try:
        wait_for_nodes(server, {away: "Unreachable"})
        assert shown(server) == {here}
        lines = server.run("top", check=True).stdout.splitlines()
        [lost, known] = [next(line for line in lines if line.split()[:2][-1:] == [name]) for name in (away, here)]
        assert ("%" in lost, "%" in known) == (False, True)
    finally:
        pool[0].mend()
    wait_for_nodes(server, {away: "Ready"})
    assert any(shown(server) == {away, here} for _ in polls(60))


def shown(server: MusterServer) -> set[str]:
    """Hosts of tasks of which something is told."""
    return {task["node"] for task in server.json("top")["tasks"]}
