"""`muster node add` and `remove` with real hosts: from a machine with sshd to a job on it, and away again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import log_of, nodes

PASSWORD = "c0rrect horse"


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool([HostOptions(), HostOptions(user=PLAIN_USER, password=PASSWORD, key_login=False)]) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    """Its account has a home of its own, with nothing in it."""
    (tmp_path / "account" / ".ssh").mkdir(parents=True)
    made = MusterServer(tmp_path / "home", {"HOME": str(tmp_path / "account"), "SSH_AUTH_SOCK": ""})
    made.start()
    yield made
    made.stop()


def _ssh(host: Host) -> str:
    return f"{host.user}@{host.address}:{host.port}"


def test_a_machine_joins_runs_a_job_and_leaves(server: MusterServer, pool: HostPool) -> None:
    key = str(pool[0].key_file)
    done = server.run("node", "add", "box", "--ssh", _ssh(pool[0]), "--key-file", key, "--accept-host-key")
    assert done.returncode == 0, done.stderr
    assert "added node box to cluster lab" in done.stderr
    assert "box is Ready" in done.stderr
    job = server.submit({"name": "hello", "cluster": "lab", "command": "hostname"})
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert log_of(server, job["id"], "worker-0").strip() == pool[0].name
    assert server.run("node", "remove", "box").returncode == 0
    for _ in polls(30):
        if "box" not in nodes(server):
            return
    raise AssertionError("the node is still there")


def test_a_machine_joins_by_password(server: MusterServer, pool: HostPool) -> None:
    words = ("node", "add", "box", "--ssh", _ssh(pool[1]), "--password", "--accept-host-key")
    done = server.run(*words, input=f"{PASSWORD}\n")
    assert done.returncode == 0, done.stderr
    secret = server.home / "clusters.d" / "secrets" / "lab.box.password"
    assert secret.read_text() == f"{PASSWORD}\n"
    assert PASSWORD not in (server.home / "stderr.log").read_text() + done.stderr


def test_a_machine_whose_key_nobody_knows_is_told_of(server: MusterServer, pool: HostPool) -> None:
    done = server.run("node", "add", "box", "--ssh", _ssh(pool[0]), "--key-file", str(pool[0].key_file))
    assert done.returncode == 1
    assert "box cannot be reached: the host key of" in done.stderr
    assert "muster node remove box" in done.stderr
