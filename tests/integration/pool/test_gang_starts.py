"""A gang starts on all its nodes or on none: when one of them fails at the start, the attempt is undone everywhere and
made again elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import Host, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import on_hosts

from .faults import Scene, scene
from .gangs import KINDS, Gang, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
every_kind = pytest.mark.parametrize("kind", list(KINDS))
NOTICED_LATE = {"unreachableAfter": "4s", "lostAfter": "4s"}
"""So late that a start is under way before anybody knows of the fault."""


@pytest.fixture
def stage(tmp_path: Path, fragile_pool: HostPool, fragile_server: MusterServer) -> Iterator[Scene]:
    """The last host is kept for the second try."""
    with scene(fragile_server, fragile_pool, tmp_path / "control", **NOTICED_LATE) as made:
        assert made.server.run("node", "cordon", _spare(made).name).returncode == 0
        yield made


def _spare(stage: Scene) -> Host:
    return stage.pool.hosts[-1]


def _try_elsewhere(stage: Scene, gang: Gang, bad: Host) -> None:
    """Let the spare host be used; the second try is there, and of the first nothing is left but on a cut host."""
    assert stage.server.run("node", "uncordon", _spare(stage).name).returncode == 0
    for _ in polls(90):
        if gang.job()["state"] == "Running":
            break
    last = gang.job()["attempt"]
    gang.wait_until_working(last)
    assert bad.name not in {task["node"] for task in gang.tasks(last)}
    for attempt in range(1, last):
        assert {task["state"] for task in gang.tasks(attempt)} <= {"Failed", "Lost", "Stopped"}
        for host in stage.pool.hosts:
            assert not running(host, f"{gang.id}.{attempt}."), f"attempt {attempt} is still alive on {host}"


@every_kind
def test_a_gang_is_undone_and_tried_elsewhere_when_the_disk_of_one_node_is_full(kind: str, stage: Scene) -> None:
    bad = stage.pool[0]
    bad.fill_disk()
    gang = Gang(stage.server, stage.pool, stage.control, kind)
    gang.wait_for_attempt(1)
    _try_elsewhere(stage, gang, bad)
    assert any("disk" in task["reason"] for task in gang.tasks(1)), gang.tasks(1)
    bad.free_disk()
    gang.end_well(attempt=gang.job()["attempt"])
    job = stage.server.submit(on_hosts("everywhere", len(stage.pool.hosts), "true"))
    assert stage.server.wait(job["id"])["state"] == "Succeeded", "the node is not used again"


@every_kind
def test_a_gang_is_undone_and_tried_elsewhere_when_one_node_is_cut_off_before_its_launch(
    kind: str, stage: Scene
) -> None:
    bad = stage.pool[0]
    bad.cut()
    gang = Gang(stage.server, stage.pool, stage.control, kind)
    stage.wait_for(bad, "Unreachable")
    _try_elsewhere(stage, gang, bad)
    bad.mend()
    stage.wait_for(bad, "Ready")
    gang.end_well(attempt=gang.job()["attempt"])
