"""Folders that the hosts of a pool share, or should: who may run what needs them, and files for people."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, log_of, nodes, on_hosts, serving

FOLDER = "/srv/data"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "words.txt").write_text("one and the same\n")
    return folder


@pytest.fixture(scope="module")
def server(pool: HostPool, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """Three hosts see one folder; the fourth has another one at the same path."""
    other = tmp_path_factory.mktemp("other")
    for host in pool.hosts:
        host.share(shared if host is not pool[3] else other, Path(FOLDER))
    with serving(tmp_path_factory.mktemp("home"), pool, folders={"data": FOLDER}) as made:
        yield made


def _eventually(server: MusterServer, name: str, words: str) -> dict[str, Any]:
    for _ in polls(30):
        node = nodes(server)[name]
        if any(words in alert for alert in node["alerts"]):
            return dict(node)
    raise AssertionError(f"{name} does not say {words!r}: {node}")


def test_a_host_with_another_folder_says_so_and_gets_no_job_that_needs_it(server: MusterServer, pool: HostPool) -> None:
    odd = _eventually(server, pool[3].name, "folder data is not the same as on")
    assert "muster/folder.data" not in odd["labels"]
    needing = on_hosts("needs", 3, "cat in/words.txt; hostname", mounts=[{"source": "data", "target": "in"}])
    job = server.submit(needing)
    assert server.wait(job["id"])["state"] == "Succeeded"
    said = [log_of(server, job["id"], f"worker-{index}").splitlines() for index in range(3)]
    assert {lines[0] for lines in said} == {"one and the same"}
    assert {lines[1] for lines in said} == {host.name for host in pool.hosts[:3]}


def test_a_gang_that_needs_the_folder_on_more_hosts_than_have_it_waits_and_says_why(
    server: MusterServer, pool: HostPool
) -> None:
    _eventually(server, pool[3].name, "folder data is not the same as on")
    job = server.submit(on_hosts("too-many", 4, "true", mounts=[{"source": "data", "target": "in"}]))
    for _ in polls(30):
        told = server.run("explain", job["id"]).stdout
        if "folder data" in told:
            break
    assert "folder data" in told
    server.call("POST", f"/api/v1/jobs/{job['id']}/kill", {"grace": "0s"})


def test_files_go_there_and_back_over_ssh(server: MusterServer, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(bytes(range(256)) * 5000)
    server.run("fs", "mkdir", "-p", f"{CLUSTER}:data/deep", check=True)
    server.run("fs", "put", str(tmp_path / "sent"), f"{CLUSTER}:data/deep/sent", check=True)
    assert (shared / "deep" / "sent").read_bytes() == (tmp_path / "sent").read_bytes()
    server.run("fs", "get", f"{CLUSTER}:data/deep/sent", str(tmp_path / "back"), check=True)
    assert (tmp_path / "back").read_bytes() == (tmp_path / "sent").read_bytes()


def test_no_path_leaves_its_folder_over_ssh(server: MusterServer, shared: Path) -> None:
    (shared / "out").symlink_to("/etc")
    for path in ("data/../etc/passwd", "data/out/passwd"):
        refused = server.run("fs", "cat", f"{CLUSTER}:{path}")
        assert refused.returncode == 1
        assert "root:" not in refused.stdout


def test_a_folder_that_comes_into_order_is_used_again(server: MusterServer, pool: HostPool, shared: Path) -> None:
    _eventually(server, pool[3].name, "folder data is not the same as on")
    pool[3].share(shared, Path(FOLDER))
    server.run("node", "reconnect", pool[3].name, check=True)
    for _ in polls(30):
        if not nodes(server)[pool[3].name]["alerts"]:
            break
    assert nodes(server)[pool[3].name]["alerts"] == []
    job = server.submit(on_hosts("all", 4, "cat in/words.txt", mounts=[{"source": "data", "target": "in"}]))
    assert server.wait(job["id"])["state"] == "Succeeded"


@pytest.mark.parametrize("which", [0, 1])
def test_of_two_hosts_the_one_that_lost_the_folder_is_wrong(pool: HostPool, tmp_path: Path, which: int) -> None:
    """What lies bare there afterwards is an empty folder of its own; it must not pass for the shared one."""
    place, lost, kept = Path(f"/srv/pair{which}"), pool[which], pool[1 - which]
    (tmp_path / "pair").mkdir()
    for host in (lost, kept):
        host.share(tmp_path / "pair", place)
    with serving(tmp_path / "home", pool, pool.hosts[:2], folders={"pair": str(place)}) as server:
        for _ in polls(30):
            if all("muster/folder.pair" in node["labels"] for node in nodes(server).values()):
                break
        lost.unshare(place)
        server.run("node", "reconnect", lost.name, check=True)
        _eventually(server, lost.name, f"folder pair is not the same as on {kept.name}")
        assert nodes(server)[kept.name]["alerts"] == []
    kept.unshare(place)
