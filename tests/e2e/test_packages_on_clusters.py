"""Packages that lie in a folder of the cluster already: tasks work there, nothing is sent, and rights hold."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.client import Client
from tests.parts.engines import IMAGE
from tests.parts.local_cluster import configure_local, serving_containers
from tests.parts.passable import let_all_pass
from tests.parts.server import MusterServer, running_server
from tests.security.isolation.conftest import Person, people

PROGRAM = "import os, part; print(part.NAME, os.getcwd(), open('data.txt').read())"


class Lab:
    def __init__(self, server: MusterServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.alice, self.mallory = people(server, "alice", "mallory")
        self.package = folder / "open/mine"
        for name in ("open", "closed", "kept"):
            place = folder / name / "mine"
            place.mkdir(parents=True)
            (place / "train.py").write_text(PROGRAM)
            (place / "part.py").write_text("NAME = 'in place'\n")
            (place / "data.txt").write_text("data\n")
            for path in (place, *place.iterdir()):
                path.chmod(0o777 if path.is_dir() else 0o644)
        let_all_pass(folder)
        self.configure("user")

    def configure(self, mode: str) -> None:
        folders = {
            "open": str(self.folder / "open"),
            "closed": {"path": str(self.folder / "closed"), "users": ["alice"]},
            "kept": {"path": str(self.folder / "kept"), "readOnly": True},
        }
        configure_local(self.server, mode, folders=folders)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_server(tmp_path_factory.mktemp("places") / "home") as server:
        yield Lab(server, tmp_path_factory.mktemp("folders"))


def refusal(person: Person, **spec: Any) -> str:
    given = {"name": "x", "command": "true", **spec}
    status, problem = person.server.call("POST", "/api/v1/jobs", {"spec": given}, token=person.token)
    assert status == 422, problem
    return json.dumps(problem)


@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_tasks_work_in_the_package_where_it_lies(lab: Lab, mode: str) -> None:
    lab.configure(mode)
    spec: dict[str, Any] = {"package": "local:open/mine", "replicas": 2}
    ended = lab.alice.run(
        f"python3 train.py && cd / && python3 -c 'import part' && echo $MUSTER_ROLE_INDEX > "
        f"{lab.package}/made-$MUSTER_ROLE_INDEX-{mode}",
        **spec,
    )
    assert (ended.state, ended.log) == ("Succeeded", f"in place {lab.package} data\n\n"), ended.log
    assert {(lab.package / f"made-{index}-{mode}").read_text() for index in (0, 1)} == {"0\n", "1\n"}


def test_a_read_only_folder_stays_so_in_a_namespace(lab: Lab) -> None:
    lab.configure("namespace")
    ended = lab.alice.run("python3 train.py; touch made", package="local:kept/mine")
    assert "in place" in ended.log
    assert "Read-only file system" in ended.log
    assert not (lab.folder / "kept/mine/made").exists()


def test_who_may_not_use_the_folder_may_not_use_a_package_in_it(lab: Lab) -> None:
    lab.configure("user")
    said = refusal(lab.mallory, package="local:closed/mine")
    assert "cluster local has no folder 'closed'" in said
    assert said.replace("closed", "absent") == refusal(lab.mallory, package="local:absent/mine")
    mounted = refusal(lab.mallory, mounts=[{"source": "closed", "target": "in"}])
    assert mounted.replace("closed", "absent") == refusal(lab.mallory, mounts=[{"source": "absent", "target": "in"}])
    assert "closed" not in refusal(lab.mallory, mounts=[{"source": "close,readonly=false", "target": "in"}]).replace(
        "close,readonly", ""
    )
    assert lab.alice.run("python3 train.py", package="local:closed/mine").state == "Succeeded"


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("local:open/none", "open/none"),
        ("local:open/mine/train.py", "is not a folder"),
        ("local:nowhere/mine", "has no folder 'nowhere'"),
        ("local:open/../closed", "without '..'"),
        ("local:/etc", "without '..'"),
        ("local/node:open/mine", "CLUSTER:FOLDER/PATH"),
        ("elsewhere:open/mine", "there is no cluster 'elsewhere'"),
    ],
)
def test_what_is_not_there_is_refused_with_words(lab: Lab, package: str, words: str) -> None:
    assert words in refusal(lab.alice, package=package)


def test_a_link_out_of_the_folder_is_refused(lab: Lab) -> None:
    link = lab.folder / "open/out"
    if not link.is_symlink():
        link.symlink_to("/etc")
    assert "package" in refusal(lab.alice, package="local:open/out")


@pytest.mark.parametrize(
    ("key", "value"),
    [("outputs", ["model/"]), ("setup", "true"), ("mounts", [{"source": "open", "target": "data"}])],
)
def test_nothing_is_put_into_a_package_that_lies_there(lab: Lab, key: str, value: Any) -> None:
    assert "where it lies" in refusal(lab.alice, package="local:open/mine", **{key: value})


def test_a_package_that_is_gone_at_the_start_is_named(lab: Lab) -> None:
    lab.configure("user")
    gone = lab.folder / "open/gone"
    gone.mkdir(mode=0o755)
    job = lab.alice.submit("true", package="local:open/gone", hold=True, name="late")
    gone.rmdir()
    lab.server.call("POST", f"/api/v1/jobs/{job}/resume", {}, token=lab.alice.token)
    assert lab.server.wait(job)["state"] == "Failed"
    assert f"the package {gone} cannot be entered" in lab.alice.log(job)
    assert "which the job uses where it lies" in lab.server.run("explain", job).stdout


def test_command_line_and_python_client_send_nothing(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: mine\npackage: local:open/mine\ncommand: python3 train.py\n")
    said = lab.server.run("submit", str(tmp_path / "job.yaml"), "--follow", check=True)
    assert f"in place {lab.package} data" in said.stdout
    said = lab.server.run("run", "--package", "local:open/mine", "--", "python3", "train.py", check=True)
    assert f"in place {lab.package} data" in said.stdout
    client = Client(lab.server.url, lab.server.token)
    [job] = client.submit_many([{"name": "by-client", "command": "python3 train.py", "package": "local:open/mine"}])
    assert lab.server.wait(job.id)["state"] == "Succeeded"
    _, again = lab.server.call("GET", f"/api/v1/jobs/{job.id}/spec")
    assert "local:open/mine" in json.dumps(again)
    assert not list((lab.server.home / "packages").glob("*.tar.gz"))


@pytest.fixture
def containers(tmp_path: Path) -> Iterator[Lab]:
    with serving_containers(tmp_path / "home") as server:
        yield Lab(server, tmp_path / "folders")


def test_in_a_container_the_package_is_where_it_is_on_the_node(containers: Lab) -> None:
    containers.configure("container")
    there = {"package": "local:open/mine", "runtime": {"image": IMAGE}}
    ended = containers.alice.run("pwd; cat data.txt; echo $PYTHONPATH; touch made", **there)
    assert (ended.state, ended.log) == ("Succeeded", f"{containers.package}\ndata\n{containers.package}\n")
    assert (containers.package / "made").exists()
    gone = containers.alice.run("touch made", **{**there, "package": "local:kept/mine"})
    assert (gone.state, "Read-only file system" in gone.log) == ("Failed", True)
