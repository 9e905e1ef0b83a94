"""Two plain users on SSH hosts, which the server reaches as root, under a plain account, and under a plain account that
may call the task helper by sudo."""

import json
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.parts.hosts import PLAIN_USER, Host, HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, serving
from tests.security.isolation.attacks import (
    FILES,
    PROCESSES,
    SECRET,
    SHARED_MEMORY,
    SOCKETS,
    Attempt,
    attack_script,
    attempts_in,
    is_expected,
    victim_program,
)
from tests.security.isolation.conftest import Person, people

CELLS = FILES | PROCESSES | SOCKETS | SHARED_MEMORY
HELPED = HostOptions(user=PLAIN_USER, task_helper=True)
HOSTS = (("user", HostOptions()), ("namespace", HostOptions(user=PLAIN_USER)), ("user", HELPED))
"""The isolation that a host gives, by how the server reaches it."""


class Hosts(NamedTuple):
    server: MusterServer
    pool: HostPool
    alice: Person
    mallory: Person


@contextmanager
def serving_hosts(home: Path, *options: HostOptions) -> Iterator[Hosts]:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)
    with HostPool(options) as pool, serving(home, pool, defaults={}) as server:
        yield Hosts(server, pool, *people(server, "alice", "mallory"))


def test_tasks_on_hosts_reach_what_is_not_their_own_only_where_the_guide_says_so(tmp_path: Path) -> None:
    """One test for all cells and hosts, which take far longer to start than the attacks themselves."""
    with serving_hosts(tmp_path / "home", *(options for _, options in HOSTS)) as hosts:
        _check_what_is_said(hosts)
        for (mode, options), host in zip(HOSTS, hosts.pool.hosts, strict=True):
            found = attack(hosts, host)
            wrong = {name: found[name].said for name, cell in CELLS.items() if not is_expected(found[name], cell, mode)}
            assert wrong == {}, (mode, options)
        _check_life_with_helper(hosts, hosts.pool[2])


def _check_what_is_said(hosts: Hosts) -> None:
    """The hosts have no control groups; the processes of a namespaced task end with it all the same."""
    gaps = [
        f"node {hosts.pool[number].name}: processes that hide from their session can outlive their task: "
        "no control groups are mounted on this machine"
        for number in (0, 2)
    ]
    assert isolation(hosts)["gaps"] == gaps
    assert gaps[0] in hosts.server.run("doctor").stdout
    assert f"not enforced: {gaps[0]}" in hosts.server.run("describe", f"cluster/{CLUSTER}", check=True).stdout


def _check_life_with_helper(hosts: Hosts, host: Host) -> None:
    """The agent there is neither root nor the owner of what a task makes, and still collects, stops and cleans up."""
    there: dict[str, Any] = {"cluster": CLUSTER, "where": {"nodes": host.name}}
    nap = f"7{secrets.randbelow(10**8):08d}"
    script = f"umask 077; mkdir out; echo made > out/file; echo more >> /dev/stdout; id -u; (sleep {nap} &); exit 7"
    ended = hosts.alice.run(script, outputs=["out/"], **there)
    assert (ended.state, ended.log.split()[0]) == ("Failed", "more")
    assert int(ended.log.split()[1]) >= 1000
    assert host.processes(f"sleep {nap}") == {}
    content: Any = None
    for _ in polls(60):  # outputs are collected after the end
        path = f"/api/v1/jobs/{ended.job_id}/outputs/out/file"
        status, content = hosts.server.call("GET", path, token=hosts.alice.token)
        if status == 200:
            break
    assert content == "made\n"
    trap = "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    job = hosts.alice.submit(trap, **there)
    for _ in polls(60):
        if "up" in hosts.alice.log(job):
            break
    hosts.server.call("POST", f"/api/v1/jobs/{job}/kill", {"grace": "60s"}, token=hosts.alice.token)
    assert hosts.server.wait(job)["state"] == "Cancelled"
    assert hosts.alice.log(job).endswith("saved\n")


def test_a_host_that_cannot_isolate_tasks_says_why_and_is_for_admins_only(tmp_path: Path) -> None:
    with serving_hosts(tmp_path / "home", HostOptions(user=PLAIN_USER, user_namespaces=False)) as hosts:
        given = isolation(hosts)
        assert (given["mode"], given["trustUsers"]) == ("none", False)
        assert "not root" in given["why"]
        assert "Operation not permitted" in given["why"]
        spec = {"name": "x", "command": "true", "cluster": CLUSTER}
        status, problem = hosts.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=hosts.mallory.token)
        assert (status, "trustUsers" in json.dumps(problem)) == (422, True)
        assert hosts.server.wait(hosts.server.submit(spec)["id"])["state"] == "Succeeded"
        assert "tasks of different users can reach each other" in hosts.server.run("doctor").stdout


def isolation(hosts: Hosts) -> Any:
    _, page = hosts.server.call("GET", "/api/v1/clusters")
    return next(one for one in page["items"] if one["name"] == CLUSTER)["isolation"]


def attack(hosts: Hosts, host: Host) -> dict[str, Attempt]:
    tag, key = f"muster-{secrets.token_hex(8)}", _private_file(host)
    digest = hosts.alice.upload("data.txt", b"clean\n")
    there = {
        "cluster": CLUSTER,
        "where": {"nodes": host.name},
        "inputs": [{"source": digest, "target": "in"}],
    }
    job = hosts.alice.submit(f"SECRET={SECRET} exec /usr/bin/python3 -c {shlex.quote(victim_program(tag))}", **there)
    for _ in polls(60):
        if SECRET in hosts.alice.log(job):
            break
    [task] = host.run(["find", "/root", "/home", "-type", "d", "-name", f"{job}.1.worker.0"]).split()
    words = {
        "pid": int(host.run(["pgrep", "--newest", "--full", tag])),
        "agent": int(host.run(["pgrep", "--oldest", "--full", r"muster-agent-.*\.pyz"])),
        "victim": task,
        "root": task.rsplit("/", 2)[0],
        "server_file": key,
        "tag": tag,
    }
    hosts.mallory.upload("data.txt", b"clean\n")
    reached = hosts.mallory.run(attack_script(CELLS, words), **there)
    assert reached.state == "Succeeded", reached.log
    assert "forged" not in hosts.alice.log(job)
    hosts.server.call("POST", f"/api/v1/jobs/{job}/kill", {"grace": "0s"}, token=hosts.alice.token)
    assert hosts.server.wait(job)["state"] == "Cancelled"
    return attempts_in(reached.log, CELLS)


def _private_file(host: Host) -> str:
    """A file of the account by which the server logs in."""
    path = "/root/private" if host.user == "root" else f"/home/{host.user}/private"
    host.run(["install", "-m", "600", "-o", host.user, "/etc/hostname", path])
    return path
