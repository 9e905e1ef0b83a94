"""Hosts at the end of bad lines: slow ones, narrow ones, ones that stall and ones that hang up."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.host import Host
from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, end_all_jobs, polls, running_server
from tests.parts.slow_link import SlowLink
from tests.parts.ssh_cluster import CLUSTER, ROOT, log_of, node_of, nodes, on_hosts, wait_for_nodes, write_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
FOLDER = "/srv/slow"
MB = 1 << 20
_LINES = 100
_SAY = f"for i in $(seq {_LINES}); do echo line $i; sleep 0.02; done"
_SAID = [f"line {index}" for index in range(1, _LINES + 1)]


class Lab:
    """Two hosts, each at the end of a line of its own, and the server that uses them."""

    def __init__(self, server: MusterServer, hosts: list[Host], links: list[SlowLink]) -> None:
        self.server = server
        self.hosts = hosts
        self.links = links

    @property
    def host(self) -> Host:
        return self.hosts[0]

    @property
    def link(self) -> SlowLink:
        return self.links[0]

    @property
    def node(self) -> dict[str, Any]:
        return dict(nodes(self.server)[self.host.name])

    def wait_for(self, state: str) -> None:
        wait_for_nodes(self.server, {self.host.name: state}, 240)

    def submit(self, name: str, command: str, **more: Any) -> str:
        """On the first host."""
        there = {"nodes": [self.host.name]}
        return str(self.server.submit(on_hosts(name, 1, command, **more) | {"where": there})["id"])

    def ship(self, folder: Path, name: str, size: int) -> str:
        """A job on the first host that needs so many bytes there; the digest that it should find."""
        (folder / "weights").write_bytes(os.urandom(size))
        job = folder / "job.yaml"
        job.write_text(
            f"name: {name}\ncluster: {CLUSTER}\nresources: {{cpu: 0.1}}\ninputs: weights\n"
            f"where: {{nodes: {self.host.name}}}\ncommand: sha256sum < weights\n"
        )
        self.server.run("submit", str(job), check=True)
        return hashlib.sha256((folder / "weights").read_bytes()).hexdigest()

    def half_shipped(self) -> int:
        """How much of an archive has come to the first host, while it is not whole; else nothing."""
        with contextlib.suppress(OSError):
            return sum(path.stat().st_size for path in self.host.path(ROOT).glob("**/blobs/*.partial"))
        return 0

    def wait_until_shipping(self) -> None:
        for _ in polls(120):
            if self.half_shipped():
                return
        raise AssertionError("nothing has come to the host")

    def wait_for_heartbeats(self, count: int) -> None:
        """So many new ones from the first host."""
        before = self._heartbeats()
        for _ in polls(240):
            if len(self._heartbeats() - before) >= count:
                return
        raise AssertionError("no heartbeat was heard")

    def _heartbeats(self) -> set[str]:
        _, history = self.server.call("GET", f"/api/v1/nodes/{self.host.name}/usage?cluster={CLUSTER}")
        return {str(sample["at"]) for sample in history["items"]}

    def ended_well(self, job: str) -> list[str]:
        """The log of its only task."""
        ended = self.server.wait(job, 240)
        assert (ended["state"], ended["attempt"]) == ("Succeeded", 1), ended
        return log_of(self.server, job, "worker-0").splitlines()


@pytest.fixture(scope="module")
def everything(can_make_hosts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    with HostPool(2) as pool, contextlib.ExitStack() as stack:
        links = [stack.enter_context(SlowLink(host.address, host.port)) for host in pool.hosts]
        members = [
            node_of(host) | {"host": "127.0.0.1", "port": link.port, "address": host.address}
            for host, link in zip(pool.hosts, links, strict=True)
        ]
        for host in pool.hosts:
            host.path(FOLDER).mkdir(parents=True)
        write_cluster(home, members, folders={"data": {"path": FOLDER, "shared": False}}, lostAfter="10m")
        server = stack.enter_context(running_server(home))
        yield Lab(server, pool.hosts, links)


@pytest.fixture
def lab(everything: Lab) -> Iterator[Lab]:
    """All lines are good when it begins and when it ends."""
    wait_for_nodes(everything.server, {host.name: "Ready" for host in everything.hosts}, 240)
    yield everything
    for link in everything.links:
        link.mend()
    end_all_jobs(everything.server)


def test_a_gang_runs_over_lines_with_a_long_way_and_its_logs_are_whole(lab: Lab) -> None:
    for link in lab.links:
        link.delay_s = 0.15
        link.reset()
    job = lab.server.submit(on_hosts("far", 2, f"echo $MUSTER_RANK of $MUSTER_WORLD_SIZE; {_SAY}"))
    assert lab.server.wait(job["id"], 240)["state"] == "Succeeded"
    for rank in range(2):
        assert log_of(lab.server, job["id"], f"worker-{rank}").splitlines() == [f"{rank} of 2", *_SAID]


def test_whoever_follows_a_log_over_a_long_way_sees_every_line_once(lab: Lab) -> None:
    lab.link.delay_s = 0.15
    job = lab.submit("followed", _SAY)
    assert lab.server.run("logs", "-f", job, timeout_s=240, check=True).stdout.splitlines() == _SAID


def test_a_stall_that_is_short_changes_nothing_and_loses_no_line(lab: Lab) -> None:
    job = lab.submit("short-stall", f"echo begins; until [ -e {FOLDER}/short ]; do sleep 0.05; done; {_SAY}")
    lab.server.wait_for_state(job, "Running")
    before, connections = lab.node, lab.link.connections
    lab.host.path(f"{FOLDER}/short").touch()
    lab.link.stall(2.0)
    assert lab.ended_well(job) == ["begins", *_SAID]
    assert (lab.node["state"], lab.node["since"]) == ("Ready", before["since"])
    assert lab.link.connections == connections, "the line was given up"


def test_a_node_behind_a_long_stall_is_unreachable_and_comes_back_with_its_task_and_all_it_said(lab: Lab) -> None:
    job = lab.submit("long-stall", f"echo begins; {_SAY}; until [ -e {FOLDER}/long ]; do sleep 0.05; done; echo ends")
    lab.server.wait_for_state(job, "Running")
    with lab.link.stalled():
        lab.wait_for("Unreachable")
        assert "silent" in lab.node["note"]
    lab.wait_for("Ready")
    assert lab.server.call("GET", f"/api/v1/jobs/{job}")[1]["state"] == "Running"
    lab.host.path(f"{FOLDER}/long").touch()
    assert lab.ended_well(job) == ["begins", *_SAID, "ends"]


def test_a_transfer_that_stalls_for_long_goes_on_over_the_next_line(lab: Lab, tmp_path: Path) -> None:
    lab.link.bytes_per_s = MB
    digest = lab.ship(tmp_path, "stalled-shipping", 8 * MB)
    lab.wait_until_shipping()
    with lab.link.stalled():
        lab.wait_for("Unreachable")
    lab.link.mend()
    assert lab.ended_well("stalled-shipping") == [f"{digest}  -"]


def test_a_long_transfer_over_a_narrow_line_holds_up_nobody_else(lab: Lab, tmp_path: Path) -> None:
    """Heartbeats come, and another job starts, speaks and ends there, while the archive is on its way."""
    lab.link.bytes_per_s = MB / 2
    connections = lab.link.connections
    digest = lab.ship(tmp_path, "big", 64 * MB)
    lab.wait_until_shipping()
    lab.wait_for_heartbeats(3)
    assert lab.ended_well(lab.submit("small", _SAY)) == _SAID
    assert lab.half_shipped(), "the transfer was over before the other job: nothing was shown"
    assert lab.link.connections == connections, "the line was given up"
    lab.link.mend()
    assert lab.ended_well("big") == [f"{digest}  -"]


def test_shipping_over_a_line_that_hangs_up_goes_on_where_it_was(lab: Lab, tmp_path: Path) -> None:
    size = 2 * MB
    lab.link.reset_every = 400_000
    resets, before = lab.link.resets, lab.link.sent
    digest = lab.ship(tmp_path, "hung-up", size)
    assert lab.ended_well("hung-up") == [f"{digest}  -"]
    assert lab.link.resets - resets >= size // lab.link.reset_every
    assert lab.link.sent - before < 2 * size, "it began anew"


def test_files_arrive_whole_over_a_line_that_hangs_up(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(os.urandom(3 * MB // 2))
    there = f"{CLUSTER}/{lab.host.name}:data/sent"
    lab.link.reset_every = 400_000
    before = lab.link.resets
    lab.server.run("fs", "put", str(tmp_path / "sent"), there, check=True, timeout_s=280)
    assert lab.host.path(f"{FOLDER}/sent").read_bytes() == (tmp_path / "sent").read_bytes()
    put = lab.link.resets
    lab.server.run("fs", "get", there, str(tmp_path / "back"), check=True, timeout_s=280)
    assert (tmp_path / "back").read_bytes() == (tmp_path / "sent").read_bytes()
    assert before < put < lab.link.resets


def test_a_command_over_a_slow_and_narrow_line_says_all_it_has_to_say(lab: Lab) -> None:
    lab.link.delay_s = 0.15
    lab.link.bytes_per_s = 200_000
    run = ("node", "exec", lab.host.name, "--", "sh", "-c", "seq 30000; echo done >&2; exit 3")
    done = lab.server.run(*run, timeout_s=240)
    assert "exited with code 3" in done.stderr
    assert done.stdout.split() == [str(index) for index in range(1, 30001)]
    assert "done" in done.stderr


def test_logs_and_outputs_come_whole_over_a_line_that_hangs_up(lab: Lab, tmp_path: Path) -> None:
    lab.link.reset_every = 400_000
    before = lab.link.resets
    job = lab.submit("talks", "seq 200000; seq 150000 > kept", outputs=["kept"])
    assert lab.ended_well(job) == [str(index) for index in range(1, 200_001)]
    for _ in polls(240, 0.5):
        got = lab.server.run("outputs", job, "--get", str(tmp_path / "got"))
        if list((tmp_path / "got").glob("**/kept")):
            break
    (kept,) = (tmp_path / "got").glob("**/kept")
    assert kept.read_text().split() == [str(index) for index in range(1, 150_001)], got.stderr
    assert lab.link.resets > before
