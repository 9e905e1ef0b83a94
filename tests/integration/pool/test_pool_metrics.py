"""Metrics of jobs on SSH hosts: they come over the same connection as logs, also after it was cut."""

from collections.abc import Iterator

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import on_hosts, serving, wait_for_nodes


@pytest.fixture(scope="module")
def server(pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    times = {"unreachableAfter": "3s", "lostAfter": "10m"}
    with serving(tmp_path_factory.mktemp("home"), pool, pool.hosts[:1], **times) as made:
        yield made


def test_metrics_that_were_reported_while_a_host_was_away_come_when_it_is_back(
    server: MusterServer, pool: HostPool
) -> None:
    lines = "import muster, time; muster.log(step=1, loss=0.5); time.sleep(5); muster.log(step=2, loss=0.25)"
    job = server.submit(on_hosts("net", 1, f'python3 -c "{lines}"'))
    assert any(steps(server, job["id"]) == [1] for _ in polls(60))
    pool[0].cut()
    try:
        wait_for_nodes(server, {pool[0].name: "Unreachable"})
    finally:
        pool[0].mend()
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert steps(server, job["id"]) == [1, 2]


def steps(server: MusterServer, job: str) -> list[int]:
    _, found = server.call("GET", f"/api/v1/jobs/{job}/metrics?name=loss")
    return [point["step"] for metric in found["metrics"] for point in metric["points"]]
