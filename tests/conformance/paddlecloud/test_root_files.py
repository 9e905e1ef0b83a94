"""A program of paddlecloud's users, as it was written: it reads its number at the root and writes its lists there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.engines import IMAGE
from tests.parts.local_cluster import configure_local, serving_containers
from tests.parts.server import MusterServer, running_server
from tests.security.isolation.conftest import Person, people

PROGRAM = """
read id < /trainer_id && read count < /trainer_count || exit 1
index=0
: > /train.list && : > /test.list || exit 1
for part in a b c d e; do
  [ $((index % count)) != "$id" ] || echo "$part" >> /train.list
  index=$((index + 1))
done
echo "trainer $id of $count: $(echo $(cat /train.list))"
"""
EXPECTED = {"worker-0": "trainer 0 of 2: a c e\n", "worker-1": "trainer 1 of 2: b d\n"}
JOB: dict[str, Any] = {"name": "shards", "framework": "paddle", "replicas": 2, "command": PROGRAM}


def logs(person: Person, spec: dict[str, Any]) -> dict[str, str]:
    status, job = person.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=person.token)
    assert status == 201, json.dumps(job)
    ended = person.server.wait(job["id"])
    found = {
        task: str(person.server.call("GET", f"/api/v1/jobs/{job['id']}/logs/raw?task={task}", token=person.token)[1])
        for task in EXPECTED
    }
    assert ended["state"] == "Succeeded", found
    return found


def test_in_a_namespace_each_task_has_its_own_files_at_the_root_and_the_machine_has_none(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        (alice,) = people(server, "alice")
        configure_local(server, "namespace")
        assert logs(alice, JOB) == EXPECTED
        assert not any(Path(name).exists() for name in ("/trainer_id", "/trainer_count", "/train.list", "/test.list"))


def test_nobody_but_the_task_can_write_what_is_at_its_root(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        (alice,) = people(server, "alice")
        configure_local(server, "namespace")
        ended = alice.run("echo 7 > /trainer_id; echo x > /other; ls -ld /train.list | cut -c1-10; cat /trainer_id")
        assert "-rw-r--r--\n0\n" in ended.log
        assert ended.log.count("denied") == 2


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[MusterServer]:
    """A server whose local cluster has containers of an engine of root's, in which tasks of users are not root."""
    with serving_containers(tmp_path / "home") as server:
        yield server


def test_in_containers_the_accounts_of_users_can_write_their_lists(lab: MusterServer) -> None:
    (alice,) = people(lab, "alice")
    configure_local(lab, "container")
    assert logs(alice, {**JOB, "runtime": {"image": IMAGE}}) == EXPECTED


def test_in_containers_of_ones_own_the_files_are_at_the_root_in_every_framework(lab: MusterServer) -> None:
    own = Person(lab, "", lab.token)
    assert logs(own, {**JOB, "framework": "none", "runtime": {"image": IMAGE}}) == EXPECTED
