"""What jobs of others use on the nodes of a Slurm cluster is shown, and asked for only while somebody looks."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_commands import NotedCommands
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import serving_slurm

pytestmark = pytest.mark.slurm
_ASKED_EVERY_S = 3.0
"""Nodes are asked for so often at most while somebody looks."""


def test_what_a_job_of_somebody_else_holds_is_shown_without_any_job_of_muster(
    slurm: RealSlurm, slurm_server: MusterServer
) -> None:
    options = ("--nodelist=n3", "--cpus-per-task=3", "--mem=500", "--gres=gpu:2")
    job = slurm.submit("sleep 1000", *options, as_user=OTHER_PERSON)
    slurm.wait_for_job(job, "RUNNING")

    node = _until(slurm_server, "n3", lambda node: node["others"]["cpu"] == "3")
    assert (node["cpu"], node["others"]) == (
        {"total": "4", "used": "3"},
        {"cpu": "3", "memory": 500 << 20, "gpus": 2},
    )
    assert [(gpu["used"], gpu["job"]) for gpu in node["gpus"]] == [(1, "(others)")] * 2 + [(0, None)] * 2
    assert node["partitions"] == ["main", "urgent"]
    assert _node(slurm_server, "n1")["others"] == {"cpu": "0", "memory": 0, "gpus": 0}
    wide = slurm_server.run("get", "nodes", "-o", "wide", check=True).stdout
    assert re.search(r"n3 .* 3/4 .* cpu=3 memory=500Mi gpu=2 +main,urgent", wide), wide
    described = slurm_server.run("describe", "node/n3", check=True).stdout
    assert "Others:      cpu=3 memory=500Mi gpu=2" in described
    assert "Partitions:  main,urgent" in described

    slurm.run("scancel", job)

    _until(slurm_server, "n3", lambda node: node["others"]["cpu"] == "0")


def test_own_tasks_are_not_taken_for_those_of_others(slurm: RealSlurm, slurm_server: MusterServer) -> None:
    other = slurm.submit("sleep 1000", "--nodelist=n1", "--mem=100", as_user=OTHER_PERSON)
    slurm.wait_for_job(other, "RUNNING")
    job = submit_noting(
        slurm_server, slurm, replicas=2, resources={"cpu": 2, "gpu": 1, "gpuType": "a100"}, where={"spread": "apart"}
    )
    job.await_running(tasks=2)

    first = _until(slurm_server, "n1", lambda node: node["cpu"]["used"] == "3")
    second = _until(slurm_server, "n2", lambda node: node["gpus"][0]["job"])  # known only when Slurm is asked again
    assert (first["others"]["cpu"], first["others"]["gpus"], first["tasks"]) == ("1", 0, 1)
    assert (second["cpu"]["used"], second["others"]["cpu"], second["others"]["gpus"]) == ("2", "0", 0)
    assert [gpu["job"] for gpu in second["gpus"]] == ["noting", None]
    job.let_go()


def test_state_and_reason_are_shown_to_whoever_looks(slurm: RealSlurm, slurm_server: MusterServer) -> None:
    slurm.set_node("n2", "drain", "new fan")
    node = _until(slurm_server, "n2", lambda node: node["state"] == "Draining")
    assert node["note"] == "It is drained and starts no jobs (IDLE+DRAIN); new fan"

    slurm.run("scontrol", "create", "reservation", "starttime=now", "duration=60", "nodes=n4", "users=root")
    node = _until(slurm_server, "n4", lambda node: "reserved" in node["note"])
    assert node["state"] == "Ready"


def test_slurm_is_asked_once_however_many_look(slurm: RealSlurm, tmp_path: Path) -> None:
    commands = NotedCommands(slurm.new_folder("commands"))
    began = time.monotonic()
    with serving_slurm(tmp_path / "home", slurm, commands=str(commands.folder)) as server:
        for _ in range(50):
            server.call("GET", "/api/v1/nodes")
            server.call("GET", "/api/v1/clusters")

        asked, longest = commands.count("show node"), time.monotonic() - began
    assert 1 <= asked <= 2 + longest / _ASKED_EVERY_S


def test_nodes_stay_as_they_were_while_slurm_does_not_answer(slurm: RealSlurm, slurm_server: MusterServer) -> None:
    job = slurm.submit("sleep 1000", "--nodelist=n3", "--cpus-per-task=3", as_user=OTHER_PERSON)
    slurm.wait_for_job(job, "RUNNING")
    _until(slurm_server, "n3", lambda node: node["others"]["cpu"] == "3")

    slurm.freeze_controller()
    try:
        said = ""
        for _ in polls(60):
            said = slurm_server.run("get", "nodes").stderr
            if "Slurm has not answered yet: nodes are shown as they were" in said:
                break
        else:
            raise AssertionError(f"nobody says that it is old: {said}")
        assert _node(slurm_server, "n3")["others"]["cpu"] == "3"
    finally:
        slurm.thaw_controller()
    for _ in polls(60):
        if "Slurm has not answered yet" not in slurm_server.run("get", "nodes").stderr:
            return
    raise AssertionError("it is still said to be old")


def _until(server: MusterServer, name: str, is_so: Any) -> Any:
    node: Any = None
    for _ in polls(60):
        node = _node(server, name)
        if is_so(node):
            return node
    raise AssertionError(f"{name} is {node}\n{(Path(server.home) / 'server.log').read_text()[-2000:]}")


def _node(server: MusterServer, name: str) -> Any:
    status, nodes = server.call("GET", "/api/v1/nodes")
    assert status == 200, nodes
    return next(node for node in nodes["items"] if node["name"] == name)
