"""What is given by default, what a cluster file can change, and what is refused where nothing isolates tasks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, polls, running_server
from tests.security.isolation.conftest import Person, people


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Lab"]:
    with running_server(tmp_path_factory.mktemp("modes") / "home") as server:
        yield Lab(server, *people(server, "alice", "mallory"))


class Lab:
    def __init__(self, server: MusterServer, alice: Person, mallory: Person) -> None:
        self.server, self.alice, self.mallory = server, alice, mallory

    def configure(self, **settings: Any) -> None:
        """Write the cluster file, and wait until the server follows it."""
        file = self.server.home / "clusters.d/local.yaml"
        file.write_text(json.dumps({"backend": "local", **settings}))
        wanted = settings.get("isolation"), settings.get("trustUsers", False)
        for _ in polls(20):
            given = self.isolation
            if (given["mode"], given["trustUsers"]) == wanted and self.folders == {*settings.get("folders", ())}:
                return
        raise AssertionError(f"the server does not follow {settings}: {self.isolation}")

    @property
    def folders(self) -> set[str]:
        _, page = self.server.call("GET", "/api/v1/clusters/local/files/folders")
        return {folder["name"] for folder in page["items"]}

    @property
    def isolation(self) -> Any:
        _, page = self.server.call("GET", "/api/v1/clusters")
        return page["items"][0]["isolation"]


def test_plain_users_may_not_submit_where_tasks_are_not_isolated(lab: Lab) -> None:
    lab.configure(isolation="none")
    spec = {"spec": {"name": "x", "command": "true"}}
    status, problem = lab.server.call("POST", "/api/v1/jobs", spec, token=lab.mallory.token)
    assert status == 422
    assert "does not isolate" in json.dumps(problem)
    assert "trustUsers: true" in json.dumps(problem)
    assert lab.server.wait(lab.server.submit(spec["spec"])["id"])["state"] == "Succeeded"  # an admin


def test_plain_users_whom_an_admin_trusts_may(lab: Lab) -> None:
    lab.configure(isolation="none", trustUsers=True)
    ended = lab.mallory.run('[ "$HOME" = "$PWD" ] && echo own home')
    assert (ended.state, ended.log) == ("Succeeded", "own home\n")
    shown = lab.server.run("describe", "cluster/local", check=True).stdout
    assert "none: all tasks run under one account" in shown
    assert "isolation local: tasks of different users can reach each other" in lab.server.run("doctor").stdout


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_two_plain_users_run_jobs_and_do_not_reach_each_other(lab: Lab, mode: str, tmp_path: Path) -> None:
    lab.configure(isolation=mode)
    job = lab.alice.submit("echo private > model; echo ready; sleep 600", outputs=["model"])
    for _ in polls(30):
        if "ready" in lab.alice.log(job):
            break
    task = lab.server.home / "node/tasks" / f"{job}.1.worker.0"
    reached = lab.mallory.run(
        f"cat {task}/work/model {task}/log {lab.server.home}/muster.db {lab.server.home}/context.json; "
        f"ls {lab.server.home}/packages {lab.server.home}/logs; for p in /proc/[0-9]*; do cat $p/environ; done; true"
    )
    assert reached.state == "Succeeded"
    for secret in ("private", "ready", "SQLite", "token", "MUSTER_OWNER=alice"):
        assert secret not in reached.log
    lab.server.call("POST", f"/api/v1/jobs/{job}/kill", {}, token=lab.alice.token)
    assert lab.server.wait(job)["state"] == "Cancelled"


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_outputs_and_stops_work_for_isolated_tasks(lab: Lab, mode: str) -> None:
    lab.configure(isolation=mode)
    ended = lab.alice.run("mkdir d && echo 42 > d/out && chmod 700 d && exit 3", outputs=["d/"])
    assert ended.state == "Failed"
    saving = lab.alice.submit("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done", grace="30s")
    for _ in polls(30):
        if "ready" in lab.alice.log(saving):
            break
    lab.server.call("POST", f"/api/v1/jobs/{saving}/kill", {}, token=lab.alice.token)
    lab.server.wait(saving)
    assert "saved" in lab.alice.log(saving)
    _, found = lab.server.call("GET", f"/api/v1/jobs/{ended.job_id}/outputs", token=lab.alice.token)
    assert "d/out" in json.dumps(found)


def test_a_mount_leads_nowhere_but_into_folders_of_the_cluster(lab: Lab, tmp_path: Path) -> None:
    """A namespaced task was shown whatever path its owner mounted."""
    lab.configure(isolation="namespace")
    spec = {"name": "x", "command": "true", "mounts": [{"source": str(lab.server.home), "target": "home"}]}
    status, problem = lab.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=lab.mallory.token)
    assert (status, problem["problems"][0]["path"]) == (422, "mounts[0].source")


def test_a_link_in_a_folder_of_the_cluster_does_not_lead_out_of_it(lab: Lab, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    open_to_all(data)
    lab.configure(isolation="namespace", folders={"data": str(data)})
    lab.mallory.run(f"ln -s {lab.server.home} {data}/evil && touch {data}/made")
    assert (data / "evil").is_symlink()
    ended = lab.mallory.run("cat in/context.json; ls in", mounts=[{"source": "data/evil", "target": "in"}])
    assert "token" not in ended.log
    assert "muster.db" not in ended.log


def test_the_rights_of_a_folder_hold_for_its_absolute_path_too(lab: Lab, tmp_path: Path) -> None:
    folder = {"path": str(tmp_path), "users": ["alice"]}
    lab.configure(isolation="user", folders={"closed": folder})
    spec = {"name": "x", "command": "true", "mounts": [{"source": f"{tmp_path}/sub", "target": "in"}]}
    status, problem = lab.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=lab.mallory.token)
    said = json.dumps(problem)
    assert (status, f"mallory may not use {tmp_path}/sub" in said, "closed" in said) == (422, True, False)


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_an_unpacked_input_is_read_only_and_other_users_cannot_find_it(lab: Lab, mode: str) -> None:
    """A job read what its neighbour had written into the input that they share."""
    lab.configure(isolation=mode)
    digest = lab.alice.upload("data.txt", b"clean\n")
    given = {"inputs": [{"source": digest, "target": "in"}]}
    attack = "chmod u+w in in/data.txt; echo forged > in/data.txt; rm -rf in/; cat in/data.txt"
    assert lab.alice.run(attack, **given).log.splitlines()[-1] == "clean"
    assert lab.alice.run("cat in/data.txt", **given).log == "clean\n"
    root = lab.server.home / "node/inputs"
    found = lab.mallory.run(f"ls {root}; cat {root}/*/data.txt {root}/{digest}/data.txt; true")
    assert "clean" not in found.log
