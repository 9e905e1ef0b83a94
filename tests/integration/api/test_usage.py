"""A server whose pretended cards break: who is given them, what is shown, and what was before."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.integration.api.calling import Caller, ok, problem
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("usage")
    (home / "cards").write_text("2xA100\n")
    with running_server(home, {"MUSTER_FAKE_GPUS": f"@{home / 'cards'}"}) as running:
        yield running


@pytest.fixture
def cards(server: MusterServer) -> Iterator[Path]:
    """What has become of them; all is well again after the test."""
    path = server.home / "cards"
    yield path
    write(path, "")
    wait_for_cards(server, [None, None])


def write(path: Path, lines: str) -> None:
    """Whole or not at all: the agent reads it at any time."""
    fresh = path.with_suffix(".new")
    fresh.write_text(f"2xA100\n{lines}")
    fresh.replace(path)


def the_node(server: MusterServer) -> Any:
    return server.json("get", "nodes")["items"][0]


def wait_for_cards(server: MusterServer, reasons: list[str | None]) -> Any:
    """The node, once its cards are out of service for what these words begin."""
    node: Any = None
    for _ in polls(30, 0.2):
        node = the_node(server)
        told = [gpu["outOfService"] for gpu in node["gpus"]]
        if all(_begins(why, words) for why, words in zip(told, reasons, strict=True)):
            return node
    raise AssertionError(f"not {reasons}: {node['gpus']}")


def _begins(why: str | None, words: str | None) -> bool:
    return why == words if why is None or words is None else why.startswith(words)


def test_a_card_with_errors_is_given_to_nobody_until_it_is_reset(server: MusterServer, cards: Path) -> None:
    write(cards, "ecc 0 3\n")
    node = wait_for_cards(server, ["3 memory errors", None])
    assert [alert.split(":")[0] for alert in node["alerts"]] == ["GPU 0 is out of service"]

    wants = {"cpu": "10m", "gpu": 1}
    one = server.submit({"name": "one", "command": "echo $CUDA_VISIBLE_DEVICES", "resources": wants})
    assert server.wait(one["id"])["state"] == "Succeeded"
    assert server.run("logs", "one", check=True).stdout.split()[-1] == "1"

    both = server.submit({"name": "both", "command": "true", "resources": {"cpu": "10m", "gpu": 2}})
    told = server.run("explain", "both", check=True).stdout
    assert "needs 2 GPUs; 1 free now; 1 more is out of service" in told
    out_of_service = _samples(server, "muster_gpu_out_of_service")
    assert [one.value for one in out_of_service if one.labels["gpu"] == "0" and one.labels["model"] == "A100"] == [1]
    assert "out of service: 3 memory errors" in server.run("top", "--once", check=True).stdout

    write(cards, "")
    assert server.wait(both["id"])["state"] == "Succeeded"


def test_who_has_a_card_keeps_it(server: MusterServer, cards: Path) -> None:
    spec = {"name": "holder", "command": "sleep 300", "resources": {"cpu": "10m", "gpu": 2}, "grace": "0s"}
    job = server.submit(spec)
    server.wait_for_state(job["id"], "Running")
    write(cards, "gone 1\n")
    node = wait_for_cards(server, [None, "the driver does not list it"])
    assert [gpu["job"] for gpu in node["gpus"]] == ["holder", "holder"]
    assert server.call("GET", f"/api/v1/jobs/{job['id']}")[1]["state"] == "Running"
    server.run("kill", "holder", check=True)
    server.wait(job["id"])


def test_a_card_that_somebody_else_uses_is_given_to_nobody(server: MusterServer, cards: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        write(cards, f"process 0 {other.pid}\n")
        (gpu, _) = wait_for_cards(server, ["in use by", None])["gpus"]
        assert f"(pid {other.pid}), which Muster did not start" in gpu["outOfService"]
        other.kill()
    wait_for_cards(server, [None, None])


def test_the_last_minutes_of_a_node_go_on_from_where_one_left(server: MusterServer) -> None:
    name = the_node(server)["name"]
    me = Caller(server, server.token)
    first: Any = []
    for _ in polls(30):
        first = ok(me.get(f"/nodes/{name}/usage"))["items"]
        if len(first) > 1:
            break
    assert [item["at"] for item in first] == sorted(item["at"] for item in first)
    assert {"cpuPercent", "perCore", "memoryAvailableBytes", "diskFreeBytes", "net", "gpus"} <= first[-1].keys()
    rest = ok(me.get(f"/nodes/{name}/usage", params={"since": first[0]["at"]}))["items"]
    assert [item["at"] for item in rest][: len(first) - 1] == [item["at"] for item in first[1:]]
    assert ok(me.get(f"/nodes/{name}/usage", params={"since": "2200-01-01"}))["items"] == []
    problem(me.get("/nodes/nowhere/usage"), 404, "not-found")
    problem(me.get(f"/nodes/{name}/usage", params={"since": "yore"}), 422, "invalid")


def test_programs_and_people_see_one_node(server: MusterServer) -> None:
    name = the_node(server)["name"]
    document = server.json("top", name)
    assert document["node"]["name"] == name
    assert "Cores, percent:" in server.run("top", name, "--once", check=True).stdout
    assert server.run("top", "nowhere", "--once").returncode == 1
    assert [one.value for one in _samples(server, "muster_node_up")] == [1]


def _samples(server: MusterServer, name: str) -> list[Sample]:
    _, text = server.call("GET", "/metrics")
    return [one for family in text_string_to_metric_families(text) for one in family.samples if one.name == name]


def test_a_jobs_usage_over_time_is_there_while_it_runs_and_afterwards(server: MusterServer) -> None:
    me = Caller(server, server.token)
    job = me.submit({"name": "curve", "command": "while :; do :; done"})["id"]
    path = f"/jobs/{job}/usage/history?points=50"
    for _ in polls(60):
        if tasks := ok(me.get(path))["tasks"]:
            break
    (task,) = tasks
    assert (task["worker"], task["gpus"]) == ("worker-0", [])
    assert len(task["at"]) == len(task["cpuPercent"]) == len(task["rssBytes"]) == len(task["gpuPercent"])
    assert task["rssBytes"][0] > 0
    ok(me.post(f"/jobs/{job}/kill"), 202)
    me.server.wait(job)
    assert ok(me.get(path))["tasks"][0]["at"][0] == task["at"][0]
    assert ok(me.get(f"{path}&worker=worker-0"))["tasks"]
    problem(me.get(f"{path}&worker=nobody"), 404, "not-found")
    held = me.submit({"name": "no-curve", "command": "true", "hold": True})["id"]
    assert ok(me.get(f"/jobs/{held}/usage/history"))["tasks"] == []


def test_a_node_says_what_its_tasks_use(server: MusterServer) -> None:
    job = server.submit({"name": "uses", "command": "sleep 600", "resources": {"cpu": "10m"}, "grace": "0s"})
    server.wait_for_state(job["id"], "Running")
    me, name, task = Caller(server, server.token), the_node(server)["name"], {}
    for _ in polls(30, 0.2):
        (task,) = ok(me.get(f"/nodes/{name}"))["running"]
        if task["cpuPercent"] is not None:
            break
    server.run("kill", job["id"], check=True)
    server.wait(job["id"])
    assert task["job"] == "uses"
    assert task["processes"] >= 1
    assert task["rssBytes"] > 0
    assert task["cpuPercent"] >= 0
