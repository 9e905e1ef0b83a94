"""Nodes as a server with pretend cards shows them: what is given of their cards, what admins say of them."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import unstyle

from tests.integration.api.calling import Caller, problem
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("nodes")
    with running_server(home, {"MUSTER_FAKE_GPUS": "2xA100"}) as running:
        yield running


def test_a_shared_card_shows_how_much_of_it_is_given(server: MusterServer) -> None:
    half = {"cpu": "10m", "gpu": 0.5}
    job = server.submit({"name": "half", "command": "sleep 60", "resources": half, "grace": "0s"})
    server.wait_for_state(job["id"], "Running")
    for answer in (server.json("get", "nodes")["items"], server.json("top")["nodes"]):
        assert [(gpu["job"], gpu["used"]) for gpu in answer[0]["gpus"]] == [("half", 0.5), (None, 0)]
    server.run("kill", "half", check=True)
    server.wait(job["id"])


def test_all_who_share_a_card_are_named(server: MusterServer) -> None:
    for name, part in (("half", 0.5), ("fifth", 0.2)):
        resources = {"cpu": "10m", "gpu": part}
        job = server.submit({"name": name, "command": "sleep 60", "resources": resources, "grace": "0s"})
        server.wait_for_state(job["id"], "Running")
    (node,) = server.json("get", "nodes")["items"]
    assert [(gpu["job"], gpu["used"]) for gpu in node["gpus"]] == [("fifth, half", 0.7), (None, 0)]
    assert "GPU 0: A100, fifth, half (0.7 of it is allocated)" in server.run("describe", f"node/{node['name']}").stdout
    server.run("kill", "half", "fifth", check=True)
    for name in ("half", "fifth"):
        server.wait(name)


def test_top_keeps_to_the_width_of_its_terminal(server: MusterServer) -> None:
    """As many columns as have room, and no line that goes on in the next."""
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, 60))
    # A test worker has COLUMNS in its environment, which would count more than the terminal.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [Path(sys.executable).parent / "muster", "--server", server.url, "top"],
        env={**environment, "MUSTER_TOKEN": server.token, "TERM": "xterm"},
        stdin=inner,
        stdout=inner,
        stderr=inner,
    )
    os.close(inner)
    drawn = b""
    try:
        for _ in polls(60):
            if select.select([outer], [], [], 0)[0]:
                drawn += os.read(outer, 65536)
            if b"no task is running" in drawn:
                break
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        os.close(outer)
    shown = unstyle(drawn.decode(errors="replace").replace("\x1b[H", "\n").replace("\r", ""))
    titles = next(line for line in shown.split("\n") if line.startswith("NODE"))
    assert titles.split()[:3] == ["NODE", "STATE", "CPU"]
    assert "MEMORY" in titles
    assert [line for line in shown.split("\n") if len(line.rstrip()) > 60] == []
    assert titles.rstrip().endswith("GPU  TASKS")
    assert "RECENT" not in titles


def test_a_job_asks_for_the_labels_that_an_admin_gives_to_nodes(server: MusterServer) -> None:
    (node,) = server.json("get", "nodes")["items"]
    assert _labels(server) == {}
    spec = {"name": "here", "command": "true", "where": {"labels": {"rack": "a"}, "together": "switch"}}
    told = problem(Caller(server, server.token).post("/jobs", {"spec": spec}), 422, "unplaceable")
    assert told["detail"] == "this job can never run on local: no ready node has rack=a"

    labels = f"nodes: [{{name: {node['name']}, labels: {{rack: a, switch: s1}}}}, {{name: nowhere-at-all}}]\n"
    (server.home / "clusters.d" / "nodes.yaml").write_text(labels)
    assert any(_labels(server) == {"rack": "a", "switch": "s1"} for _ in polls(30))

    assert server.wait(server.submit(spec)["id"])["state"] == "Succeeded"
    assert "rack=a,switch=s1" in server.run("get", "nodes", "-o", "wide", check=True).stdout.split()
    assert "rack=a,switch=s1" in server.run("describe", f"node/{node['name']}", check=True).stdout.split()
    assert "cluster local has no node 'nowhere-at-all'" in server.run("vc", "list").stderr


def _labels(server: MusterServer) -> object:
    """Those that were given, without what the machine was found to have."""
    labels = server.json("get", "nodes")["items"][0]["labels"]
    return {key: value for key, value in labels.items() if not key.startswith("muster/")}
