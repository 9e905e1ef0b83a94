"""The server is killed and hosts are cut off, at random, while jobs of all modes are submitted and run over them."""

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.reliability.small_jobs import small_job
from tests.integration.reliability.stubborn_client import StubbornClient
from tests.integration.reliability.verdicts import check_what_became_of_all
from tests.parts.hosts import Host, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, node_of, nodes, wait_for_nodes, write_cluster

from .faults import SOON, restore
from .gangs import SHARED, running

JOBS = 60
ROUNDS = 6

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]


@pytest.fixture
def moments() -> random.Random:
    """The seed is printed when the test fails; set CRASH_SEED to have the same moments again."""
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"CRASH_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def server(tmp_path: Path, fragile_pool: HostPool) -> Iterator[MusterServer]:
    """One of its own: every job in it is a job of this test."""
    (tmp_path / "control" / "records").mkdir(parents=True)
    fragile_pool.share(tmp_path / "control", SHARED)
    made = MusterServer(tmp_path / "home", {"MUSTER_LOG_LEVEL": "info"})
    write_cluster(made.home, [node_of(host) for host in fragile_pool.hosts], **SOON)
    made.start()
    yield made
    made.stop()
    for host in fragile_pool.hosts:
        restore(host)


def test_jobs_survive_kills_of_the_server_and_cut_links(
    server: MusterServer, fragile_pool: HostPool, moments: random.Random, tmp_path: Path
) -> None:
    wait_for_nodes(server, {host.name: "Ready" for host in fragile_pool.hosts})
    client = StubbornClient(server, _job, JOBS)
    for _ in range(ROUNDS):
        client.allow(JOBS // ROUNDS)
        _break(server, fragile_pool, moments)
    check_what_became_of_all(server, client, JOBS, tmp_path / "control" / "records")
    _check_nothing_is_left(server, fragile_pool.hosts)


def _job(number: int) -> dict[str, Any]:
    spec = small_job(number, SHARED / "records", pace_s=0.3)
    return spec | {"cluster": CLUSTER, "where": {"spread": "apart"}}


def _break(server: MusterServer, pool: HostPool, moments: random.Random) -> None:
    """One or two hosts are cut off, for less or for more than the time of grace, and mostly the server dies, too."""
    pause = threading.Event()
    hosts = moments.sample(pool.hosts, moments.choice((1, 1, 2)))
    dies, before_s, after_s = moments.random() < 0.7, moments.uniform(0.1, 1.5), moments.uniform(0.5, 6.0)
    for host in hosts:
        host.cut()
    pause.wait(before_s)
    if dies:
        server.kill()
        server.start()
    pause.wait(after_s)
    for host in hosts:
        host.mend()


def _check_nothing_is_left(server: MusterServer, hosts: list[Host]) -> None:
    wait_for_nodes(server, {host.name: "Ready" for host in hosts})
    left: Any = None
    for _ in polls(60, every_s=0.3):
        left = [running(host, "") for host in hosts], [_held(node) for node in nodes(server).values()]
        if not any(left[0]) and not any(left[1]):
            break
    assert not any(left[0]), f"tasks still run: {left[0]}"
    assert not any(left[1]), f"nodes still hold something: {left[1]}"
    everything = {"cpu": 0.1, "gpu": 2}
    spec = {"name": "everything", "cluster": CLUSTER, "replicas": len(hosts), "command": "true"}
    job = server.submit(spec | {"resources": everything, "where": {"spread": "apart"}})
    assert server.wait(job["id"])["state"] == "Succeeded"


def _held(node: dict[str, Any]) -> Any:
    is_free = node["tasks"] == 0 and node["cpu"]["used"] == "0" and not any(gpu["job"] for gpu in node["gpus"])
    return None if is_free else node
