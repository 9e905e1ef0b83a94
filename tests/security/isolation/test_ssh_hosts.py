"""Two plain users on SSH hosts: one that the server reaches as root, and one that it reaches under a plain account.

The hosts of these tests are changed roots, in which the kernel lets nobody make a user namespace.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, serving
from tests.security.isolation.conftest import Person, people


class Hosts:
    def __init__(self, server: MusterServer, pool: HostPool, alice: Person, mallory: Person) -> None:
        self.server, self.pool, self.alice, self.mallory = server, pool, alice, mallory


@contextmanager
def serving_one(user: str, home: Path) -> Iterator[Hosts]:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)
    with HostPool([HostOptions(user=user)]) as pool, serving(home, pool, defaults={}) as server:
        yield Hosts(server, pool, *people(server, "alice", "mallory"))


def isolation(hosts: Hosts) -> Any:
    _, page = hosts.server.call("GET", "/api/v1/clusters")
    return next(one for one in page["items"] if one["name"] == CLUSTER)["isolation"]


def test_two_plain_users_on_a_host_do_not_reach_each_other(tmp_path: Path) -> None:
    with serving_one("root", tmp_path / "home") as hosts:
        given = isolation(hosts)
        assert (given["mode"], given["why"], given["trustUsers"]) == ("user", "", False)
        assert [gap.rpartition(": ")[2] for gap in given["gaps"]] == ["no control groups are mounted on this machine"]
        attack(hosts)


def test_a_host_that_cannot_isolate_tasks_says_why_and_is_for_admins_only(tmp_path: Path) -> None:
    with serving_one(PLAIN_USER, tmp_path / "home") as hosts:
        given = isolation(hosts)
        assert (given["mode"], given["trustUsers"]) == ("none", False)
        assert "not root" in given["why"]
        assert "Operation not permitted" in given["why"]
        spec = {"name": "x", "command": "true", "cluster": CLUSTER}
        status, problem = hosts.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=hosts.mallory.token)
        assert (status, "trustUsers" in json.dumps(problem)) == (422, True)
        assert hosts.server.wait(hosts.server.submit(spec)["id"])["state"] == "Succeeded"
        assert "tasks of different users can reach each other" in hosts.server.run("doctor").stdout


def attack(hosts: Hosts) -> None:
    job = hosts.alice.submit("echo private > model; echo ready; sleep 600", cluster=CLUSTER)
    for _ in polls(30):
        if "ready" in hosts.alice.log(job):
            break
    [task] = _task_folders(hosts.pool[0], job)
    reached = hosts.mallory.run(
        f"cat {task}/work/model {task}/log; echo forged >> {task}/log; ls {task.rsplit('/', 2)[0]} ~/.ssh; "
        f"cat /home/*/.ssh/* /root/.ssh/*; for p in /proc/[0-9]*; do cat $p/environ; done; id -un; true",
        cluster=CLUSTER,
    )
    assert reached.state == "Succeeded", reached.log
    for secret in ("private", "ready", "ssh-ed25519", "blobs", "MUSTER_OWNER=alice"):
        assert secret not in reached.log
    assert "forged" not in hosts.alice.log(job)
    hosts.server.call("POST", f"/api/v1/jobs/{job}/kill", {"grace": "0s"}, token=hosts.alice.token)
    assert hosts.server.wait(job)["state"] == "Cancelled"


def _task_folders(host: Host, job: str) -> list[str]:
    found = host.run(["find", "/root", "/home", "/var", "-maxdepth", "7", "-type", "d", "-name", f"{job}.1.worker.0"])
    return found.split()
