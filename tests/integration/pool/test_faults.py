"""Everything that can happen to a node in the middle of PS and collective jobs, and the right end of each."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import Host, HostPool
from tests.parts.server import PATIENCE, MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, log_of, on_hosts, wait_for_nodes

from .faults import LATE, SOON, Scene, scene
from .gangs import KINDS, SHARED, Gang, check_steps, running

pytestmark = pytest.mark.slow
AGENT = f"muster-agent.* --root \\S+-{CLUSTER}-"
"""Of this cluster: a host may be in another one, too."""
every_kind = pytest.mark.parametrize("kind", list(KINDS))


@pytest.fixture
def soon(tmp_path: Path, fragile_pool: HostPool, fragile_server: MusterServer) -> Iterator[Scene]:
    """Tasks of a node that is away are lost after seconds."""
    with scene(fragile_server, fragile_pool, tmp_path / "control", **SOON) as made:
        yield made


@pytest.fixture
def late(tmp_path: Path, fragile_pool: HostPool, fragile_server: MusterServer) -> Iterator[Scene]:
    """No task is lost because its node is away."""
    with scene(fragile_server, fragile_pool, tmp_path / "control", **LATE) as made:
        yield made


class Follower(threading.Thread):
    """Somebody who follows a log all the while."""

    def __init__(self, server: MusterServer, job: str, task: str) -> None:
        super().__init__(daemon=True)
        self._server, self._job, self._task = server, job, task
        self.lines: list[str] = []
        self.start()

    def run(self) -> None:
        self.lines = self._server.run("logs", "-f", self._job, "-w", self._task).stdout.splitlines()


def _spare(scene: Scene, gang: Gang) -> Host:
    used = {task["node"] for task in gang.tasks()}
    (spare,) = (host for host in scene.pool.hosts if host.name not in used)
    return spare


@every_kind
def test_a_gang_goes_on_elsewhere_when_a_host_is_cut_off_and_what_runs_there_is_stopped_when_it_is_back(
    kind: str, soon: Scene
) -> None:
    gang = soon.begin(kind)
    host, lost = gang.host_of("worker-1"), gang.task("worker-1")
    host.cut()
    soon.wait_for(host, "Unreachable", "silent")
    gang.wait_for_attempt(2)
    assert gang.states()["worker-1"] == "Lost"
    gang.wait_until_working(2)
    assert host.name not in {task["node"] for task in gang.tasks(2)}
    assert _spare(soon, gang).name in {task["node"] for task in gang.tasks(2)}
    assert running(host, lost["id"]), "nobody could tell it to stop, and yet it has"
    host.mend()
    soon.wait_for(host, "Ready")
    gang.wait_until_nothing_runs([host])
    gang.end_well(attempt=2)
    log = _late_log(soon, gang, "worker-1")
    check_steps("the lost task", [line for line in log if line.startswith("step")])


def _late_log(scene: Scene, gang: Gang, name: str) -> list[str]:
    """Of a task that was lost: collected when its node was back."""
    for _ in polls(30):
        lines = log_of(scene.server, gang.id, f"{name}&attempt=1").splitlines()
        if "step 3" in lines:
            return lines
    raise AssertionError(f"the log of {name} was never collected: {lines}")


@every_kind
def test_a_gang_does_not_notice_that_a_host_was_cut_off_for_less_than_the_time_of_grace(kind: str, late: Scene) -> None:
    gang = late.begin(kind)
    following = Follower(late.server, gang.id, "worker-1")
    host = gang.host_of("worker-1")
    host.cut()
    late.wait_for(host, "Unreachable", "silent")
    host.mend()
    late.wait_for(host, "Ready")
    gang.end_well(attempt=1)
    following.join(PATIENCE * 30)
    assert following.lines == log_of(late.server, gang.id, "worker-1").splitlines()


@every_kind
def test_tasks_go_on_when_sshd_and_its_sessions_are_killed(kind: str, late: Scene) -> None:
    gang = late.begin(kind)
    following = Follower(late.server, gang.id, "worker-0")
    host = gang.host_of("worker-0")
    host.kill_sshd()
    late.wait_for(host, "Unreachable")
    assert running(host, gang.task("worker-0")["id"])
    host.start_sshd()
    late.wait_for(host, "Ready")
    gang.end_well(attempt=1)
    following.join(PATIENCE * 30)
    assert following.lines == log_of(late.server, gang.id, "worker-0").splitlines()


@every_kind
def test_an_agent_that_froze_is_replaced_and_its_tasks_are_adopted(kind: str, late: Scene) -> None:
    gang = late.begin(kind)
    host = gang.host_of("worker-1")
    before = set(host.processes(AGENT))
    host.freeze(AGENT)
    late.wait_for(host, "Unreachable", "silent")
    late.wait_for(host, "Ready")
    assert not before & set(host.processes(AGENT)), "the frozen agent is still there"
    gang.end_well(attempt=1)


@every_kind
def test_tasks_of_a_host_that_was_rebooted_are_lost_and_the_gang_is_tried_again(kind: str, late: Scene) -> None:
    """The peers may see their connections reset before anybody knows of the reboot: that is not their fault."""
    gang = late.begin(kind)
    host = gang.host_of("worker-0")
    host.power_off()
    late.wait_for(host, "Unreachable", "silent")
    host.power_on()
    late.wait_for(host, "Ready")
    gang.wait_for_attempt(2)
    gang.wait_until_working(2)
    gang.end_well(attempt=2)
    assert "Running" not in gang.states(1).values()


@every_kind
def test_a_host_that_shows_another_key_is_kept_only_until_its_connection_breaks(kind: str, soon: Scene) -> None:
    gang = soon.begin(kind)
    host = gang.host_of("worker-1")
    host.change_host_key()
    soon.wait_for(host, "Ready")
    host.kill(r"^sshd(-session)?: .*@")
    soon.wait_for(host, "Unreachable", "is not trusted")
    gang.wait_for_attempt(2)
    assert gang.states()["worker-1"] == "Lost"
    gang.wait_until_working(2)
    assert host.name not in {task["node"] for task in gang.tasks(2)}


def test_a_job_that_is_killed_while_a_host_is_cut_off_ends_after_the_time_of_grace(soon: Scene) -> None:
    gang = soon.begin("collective")
    host, left = gang.host_of("worker-1"), gang.task("worker-1")["id"]
    host.cut()
    assert soon.server.run("kill", gang.id).returncode == 0
    ended = soon.server.wait(gang.id)
    assert (ended["state"], ended["attempt"]) == ("Cancelled", 1)
    assert running(host, left), "nobody could tell it to stop, and yet it has"
    host.mend()
    soon.wait_for(host, "Ready")
    gang.wait_until_nothing_runs()
    gang.check_nothing_ran_twice()


def test_a_server_that_is_killed_while_a_host_is_cut_off_loses_its_tasks_after_the_restart(soon: Scene) -> None:
    gang = soon.begin("ps")
    host = gang.host_of("worker-1")
    host.cut()
    soon.restart()
    gang.wait_for_attempt(2)
    assert gang.states()["worker-1"] == "Lost"
    gang.wait_until_working(2)
    host.mend()
    soon.wait_for(host, "Ready")
    gang.wait_until_nothing_runs([host])
    gang.end_well(attempt=2)


def test_a_server_that_is_killed_while_a_host_is_cut_off_adopts_its_tasks_when_it_is_back_in_time(late: Scene) -> None:
    gang = late.begin("collective")
    host = gang.host_of("worker-1")
    host.cut()
    late.restart()
    wait_for_nodes(late.server, {other.name: "Ready" for other in late.pool.hosts if other is not host})
    assert gang.job()["state"] == "Running"
    host.mend()
    late.wait_for(host, "Ready")
    gang.end_well(attempt=1)


@every_kind
def test_a_task_that_finds_its_disk_full_fails_for_that_and_its_gang_is_tried_elsewhere(kind: str, soon: Scene) -> None:
    gang = soon.begin(kind)
    host = gang.host_of("worker-1")
    host.fill_disk()
    gang.wait_for_attempt(2)
    failed = gang.task("worker-1")
    assert failed["state"] == "Failed"
    assert "disk" in failed["reason"]
    gang.wait_until_working(2)
    assert host.name not in {task["node"] for task in gang.tasks(2)}
    host.free_disk()
    gang.end_well(attempt=2)


def test_a_node_whose_disk_is_full_is_connected_anew_and_its_tasks_go_on(late: Scene) -> None:
    job = late.server.submit(on_hosts("quiet", 5, f"until [ -e {SHARED}/go ]; do sleep 0.05; done; exit 3"))
    late.server.wait_for_state(job["id"], "Running")
    host = late.pool[0]
    host.fill_disk()
    host.kill(AGENT)
    late.wait_for(host, "Unreachable")
    late.wait_for(host, "Ready")
    host.free_disk()
    (late.control / "go").touch()
    ended = late.server.wait(job["id"])
    assert (ended["state"], ended["attempt"]) == ("Failed", 1)
    assert "Lost" not in {task["state"] for task in _tasks(late, job["id"])}


def _tasks(scene: Scene, job: str) -> list[dict[str, Any]]:
    return list(scene.server.call("GET", f"/api/v1/jobs/{job}/tasks")[1]["items"])
