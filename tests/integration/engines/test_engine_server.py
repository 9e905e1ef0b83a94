"""A real server over an engine of another distribution: killed in the middle, asked for what is not offered."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.parts.directory_queue.layout import Layout, write
from tests.parts.directory_queue.site import end_engine, start_engine
from tests.parts.server import MusterServer

ROOT = Path(__file__).parents[3]
DEADLINE_S = 120.0


def install_plugin(folder: Path) -> None:
    """What pip leaves of a distribution with an entry point."""
    info = folder / "directory_queue-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: directory-queue\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[muster.backends]\ndirectory = tests.parts.directory_queue.kind:DIRECTORY\n"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with over_an_engine(tmp_path_factory.mktemp("shared")) as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[MusterServer]:
    """For one test alone, which kills it."""
    with over_an_engine(tmp_path) as server:
        yield server


@contextmanager
def over_an_engine(base: Path) -> Iterator[MusterServer]:
    install_plugin(base / "plugins")
    layout = Layout(base / "queue").make()
    write(layout.nodes, {"c1": 2, "c2": 2})
    home = base / "home"
    (home / "clusters.d").mkdir(parents=True)
    (home / "clusters.d/batch.yaml").write_text(f"backend: directory\nroot: {layout.root}\n")
    path = os.pathsep.join([str(base / "plugins"), str(ROOT)])
    server = MusterServer(home, {"PYTHONPATH": path})
    engine = start_engine(layout.root)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        end_engine(engine, layout)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def state_of(server: MusterServer, job: str) -> str:
    return str(server.json("describe", job)["state"])


def test_a_killed_server_finds_its_gang_again_and_runs_nothing_twice(own_server: MusterServer, tmp_path: Path) -> None:
    server = own_server
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.sh").write_text("echo begun >> $MARKS\nwhile [ ! -e $GO ]; do sleep 0.05; done\necho done\n")
    marks, go = tmp_path / "marks", tmp_path / "go"
    spec = {
        "name": "wide",
        "cluster": "batch",
        "package": str(code),
        "command": "sh train.sh",
        "replicas": 3,
        "env": {"MARKS": str(marks), "GO": str(go)},
    }
    (tmp_path / "job.json").write_text(json.dumps(spec))
    server.run("submit", str(tmp_path / "job.json"), check=True)
    until(lambda: marks.exists() and len(marks.read_text().splitlines()) == 3)
    server.kill()
    go.touch()
    server.start()
    until(lambda: state_of(server, "wide") == "Succeeded")
    assert len(marks.read_text().splitlines()) == 3
    workers = server.json("get", "workers", "wide")["items"]
    assert [(worker["attempt"], worker["node"] in ("c1", "c2")) for worker in workers] == [(1, True)] * 3
    assert server.run("logs", "wide", "--worker", "worker-0", check=True).stdout.splitlines()[-1].endswith("done")


def test_what_the_engine_lacks_is_refused_in_a_sentence(server: MusterServer) -> None:
    drained = server.run("node", "drain", "batch/c1")
    assert drained.returncode == 1
    assert "cluster batch does not offer node-administration" in drained.stderr
    status, problem = server.call("GET", "/api/v1/nodes/c1/usage?cluster=batch")
    assert (status, problem["code"], problem["capability"], problem["cluster"]) == (
        501,
        "not-offered",
        "usage",
        "batch",
    )
    batch = next(one for one in server.json("get", "clusters")["items"] if one["name"] == "batch")
    assert (batch["backend"], batch["placement"]) == ("directory", "engine")
    assert batch["capabilities"] == ["engine", "logs", "cleanup"]


def test_nodes_of_an_engine_are_shown_with_what_runs_there(server: MusterServer) -> None:
    server.run("run", "--cluster", "batch", "--name", "busy", "--detach", "--", "sleep", "600", check=True)
    until(lambda: state_of(server, "busy") == "Running")
    nodes = {node["name"]: node for node in server.json("get", "nodes")["items"]}
    assert {name for name, node in nodes.items() if node["cluster"] == "batch"} == {"c1", "c2"}
    (worker,) = server.json("get", "workers", "busy")["items"]
    assert nodes[worker["node"]]["tasks"] == 1
    assert worker["devices"] == []
    for command in (("get", "nodes"), ("top",), ("node", "describe", "batch/c1"), ("get", "clusters"), ("doctor",)):
        assert server.run(*command).returncode == 0, command
    server.run("kill", "busy", check=True)
    until(lambda: state_of(server, "busy") == "Cancelled")


def test_a_dry_run_prints_what_the_engine_would_be_given(server: MusterServer) -> None:
    shown = server.run("run", "--cluster", "batch", "--dry-run", "--", "echo", "hello", check=True).stdout
    assert '"argv": [' in shown
    assert '"hello"' in shown


def test_a_signed_address_opens_one_archive_and_nothing_else(server: MusterServer) -> None:
    digest = "0" * 64
    for query in ("", "?expires=99999999999&signature=00", f"?expires=1&signature={'0' * 64}"):
        status, _ = server.call("GET", f"/api/v1/archives/{digest}{query}", token="")
        assert status in (400, 403)
