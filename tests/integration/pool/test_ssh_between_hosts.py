"""Jobs with `ssh: true` over several SSH hosts, of users with and without isolation, and with names that resolve."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import PLAIN_USER, HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import CLUSTER, serving
from tests.security.isolation.conftest import Person, people

ASK = "ssh worker-1 hostname; ssh worker-1 'echo $MUSTER_NODE'"
# Now and then Open MPI warns that it could not set the process group of an ssh that runs already, which harms nothing.
MPIRUN = "mpirun --allow-run-as-root --mca plm_rsh_agent ssh -H worker-0,worker-1 -n 2 printenv MUSTER_NODE"
MPI = f"{MPIRUN} 2> warnings || {{ cat warnings; exit 1; }}"
RESOLVED = "getent hosts worker-1 | cut -d ' ' -f 1; getent hosts worker-1 | grep -c worker-1"


def answer(person: Person, command: str) -> str:
    """What the command says in the first of two tasks on two hosts. The job ends with it."""
    first = f'[ "$MUSTER_ROLE_INDEX" = 1 ] && exec sleep 600; {command}'
    spec: dict[str, Any] = {"name": "pair", "cluster": CLUSTER, "replicas": 2, "command": first, "ssh": True}
    spec |= {"minSucceeded": 1, "where": {"spread": "apart"}, "framework": "none"}
    status, job = person.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=person.token)
    assert status == 201, json.dumps(job)
    state = person.server.wait(job["id"])["state"]
    _, log = person.server.call("GET", f"/api/v1/jobs/{job['id']}/logs/raw?task=worker-0", token=person.token)
    assert state == "Succeeded", log
    return str(log)


def check(server: MusterServer, pool: HostPool, person: Person, *, resolves: bool) -> None:
    names = {host.name: host.address for host in pool.hosts}
    there, also_there = answer(person, ASK).split()
    assert there == also_there
    assert there in names
    if shutil.which("mpirun") is not None:
        assert sorted(answer(person, MPI).split()) == sorted(names)
    if resolves:
        address, count = answer(person, RESOLVED).split()
        assert (address in names.values(), count) == (True, "1")


def test_tasks_on_two_hosts_reach_each_other_by_name(tmp_path: Path) -> None:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)
    with HostPool(2) as pool, serving(tmp_path / "home", pool, defaults={}) as server:
        (alice,) = people(server, "alice")
        check(server, pool, Person(server, "", server.token), resolves=False)
        check(server, pool, alice, resolves=False)


def test_in_namespaces_the_names_of_tasks_on_other_hosts_resolve_for_every_program(tmp_path: Path) -> None:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)
    plain = HostOptions(user=PLAIN_USER)
    with HostPool([plain, plain]) as pool, serving(tmp_path / "home", pool, defaults={}) as server:
        (alice,) = people(server, "alice")
        check(server, pool, alice, resolves=True)
