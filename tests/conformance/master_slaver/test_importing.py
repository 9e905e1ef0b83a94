"""`muster import` of the old folder, against a real server: the jobs run where and as they would have."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.master_slaver.old_folder import PASSWORD, task, write
from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, polls, running_server

TRAIN = """\
import os, sys
keys = ("PYTHONUNBUFFERED", "NCCL_P2P_DISABLE", "QT_QPA_PLATFORM", "CUDA_VISIBLE_DEVICES")
print({key: os.environ.get(key) for key in keys})
print("in", os.getcwd(), "by", sys.prefix)
with open("order.txt", "a") as out:
    out.write(sys.argv[1] + "\\n")
"""
OLD, FAILED, FIRST, SECOND = "23051710203000", "23051710204000", "23051810203012", "23051810203099"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the nodes share: a project in data, and a conda whose layout is known."""
    root = tmp_path_factory.mktemp("root")
    (root / "data" / "project").mkdir(parents=True)
    (root / "data" / "project" / "train.py").write_text(TRAIN)
    (root / "data_ssd").mkdir()
    for place in ("miniconda3", "miniconda3/envs/torch"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "envs" / place)], check=True)
    open_to_all(root)
    return root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("master-import")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "local.yaml").write_text(
        f"name: local\nbackend: local\nconda: envs/miniconda3\nfolders:\n"
        f"  data: {root}/data\n  data_ssd: {root}/data_ssd\n  envs: {root}/envs\n"
    )
    with running_server(home, {"MUSTER_FAKE_GPUS": "2xRTX3090"}) as running:
        assert any("muster/conda" in running.json("get", "nodes")["items"][0]["labels"] for _ in polls(30))
        yield running


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    logs = root / "data" / "task_logs"
    logs.mkdir()
    (logs / f"{OLD}.log").write_text("epoch 1\n")
    return write(
        tmp_path_factory.mktemp("old") / "master",
        root=root,
        waiting=[
            task(SECOND, exec="python train.py second", prev=FIRST, is_reuse_gpu=1, is_urgent=1),
            task(FIRST, exec="python train.py first", need_gpus="2"),
        ],
        running=[task("23051810203050", state="exec", gpu_num=[0])],
        ended=[task(OLD, state="accp"), task(FAILED, state="offline_error")],
    )


def imported(server: MusterServer) -> list[Any]:
    return list(server.call("GET", "/api/v1/jobs?label=imported-from=master-slaver")[1]["items"])


def test_a_dry_run_shows_everything_and_changes_nothing(server: MusterServer, master: Path) -> None:
    done = server.run("import", str(master), "--cluster", "local", "-o", "json")

    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert [spec["name"] for spec in plan["queued"]] == [f"task-{SECOND}", f"task-{FIRST}"]
    assert [record["id"] for record in plan["history"]] == [OLD, FAILED]
    assert any("23051810203050" in line for line in plan["skipped"])
    assert "nothing was changed" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert imported(server) == []


def test_waiting_tasks_run_in_order_and_ended_ones_are_history_also_if_imported_twice(
    server: MusterServer, master: Path, root: Path
) -> None:
    before = time.time()
    done = server.run("import", str(master), "--cluster", "local", "--apply")
    assert done.returncode == 0, done.stderr
    assert "2 queued, 2 recorded in the history, 0 there already" in done.stderr
    assert "it runs under the old system" in done.stderr

    assert server.wait(f"task-{FIRST}")["state"] == "Succeeded"
    assert server.wait(f"task-{SECOND}")["state"] == "Succeeded"
    assert (root / "data" / "project" / "order.txt").read_text() == "first\nsecond\n"
    log = server.run("logs", f"task-{FIRST}").stdout
    assert "'CUDA_VISIBLE_DEVICES': '0,1'" in log
    assert "'NCCL_P2P_DISABLE': '1'" in log
    assert f"in {root}/data/project by {root}/envs/miniconda3/envs/torch" in log

    jobs = {job["name"]: job for job in imported(server)}
    assert (jobs[f"task-{OLD}"]["state"], jobs[f"task-{FAILED}"]["state"]) == ("Succeeded", "Failed")
    assert jobs[f"task-{OLD}"]["createdAt"] < jobs[f"task-{OLD}"]["endedAt"]
    assert jobs[f"task-{OLD}"]["endedAt"] < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before + 1))

    again = server.run("import", str(master), "--cluster", "local", "--apply")
    assert again.returncode == 0, again.stderr
    assert "0 queued, 0 recorded in the history, 4 there already" in again.stderr
    assert len(imported(server)) == 4


def test_a_task_that_ended_meanwhile_is_added_by_the_next_import(
    server: MusterServer, tmp_path: Path, root: Path
) -> None:
    late = "23051910203012"
    first = write(tmp_path / "one", root=root, running=[task(late, state="exec")])
    assert "0 queued, 0 recorded" in server.run("import", str(first), "--cluster", "local", "--apply").stderr
    then = write(tmp_path / "two", root=root, ended=[task(late, state="term")])
    assert "0 queued, 1 recorded" in server.run("import", str(then), "--cluster", "local", "--apply").stderr
    assert server.call("GET", f"/api/v1/jobs/task-{late}")[1]["state"] == "Cancelled"


def test_users_who_are_no_admins_cannot_record_history(server: MusterServer, tmp_path: Path, root: Path) -> None:
    master = write(tmp_path / "master", root=root, ended=[task("23052010203012", state="accp")])
    body = {"name": "wang", "role": "user", "password": "correct horse battery"}
    assert server.call("POST", "/api/v1/users", body)[0] == 201
    _, login = server.call("POST", "/api/v1/login", {"user": "wang", "password": "correct horse battery"})
    env = {**server.environment, "MUSTER_SERVER": server.url, "MUSTER_TOKEN": login["token"]}
    words = server.command("import", str(master), "--cluster", "local", "--apply")
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "only an admin can" in done.stderr


def test_the_written_files_are_those_of_a_server_and_are_never_replaced(
    server: MusterServer, master: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    written = server.run("import", str(master), "--cluster", "lab", "--write", str(home))
    assert written.returncode == 0, written.stderr
    checked = server.run("cluster", "check", "--folder", str(home / "clusters.d"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    again = server.run("import", str(master), "--cluster", "lab", "--write", str(home))
    assert again.returncode == 0, again.stderr
    (home / "clusters.d" / "lab.yaml").write_text("name: lab\nbackend: ssh\n")
    refused = server.run("import", str(master), "--cluster", "lab", "--write", str(home))
    assert refused.returncode == 1
    assert "says something else" in refused.stderr
    assert PASSWORD not in "".join(path.read_text() for path in home.rglob("*.yaml"))


def test_a_folder_of_something_else_is_refused(server: MusterServer, tmp_path: Path) -> None:
    done = server.run("import", str(tmp_path))
    assert done.returncode == 1
    assert "conf.json" in done.stderr
