"""What admins do with a node, over the API and by command, on a real server with its real agent."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("life"), {"MUSTER_FAKE_GPUS": "1xA100"}) as running:
        yield running


@pytest.fixture
def node(server: MusterServer) -> Iterator[str]:
    """The server's own machine; whatever was marked of it is taken back."""
    name = str(server.json("node", "list")["items"][0]["name"])
    yield name
    server.run("node", "uncordon", name, check=True)


def test_a_cordoned_node_takes_nothing_until_it_is_uncordoned(server: MusterServer, node: str) -> None:
    told = server.run("node", "cordon", node, "--reason", "a fan is loud", check=True)
    assert told.stdout == f"{node}\n"
    assert "is Cordoned (cordoned by" in told.stderr
    job = server.submit({"name": "waits", "command": "true"})
    assert any("1 node is cordoned" in server.run("explain", "waits").stdout for _ in polls(20))
    listed = server.json("node", "list", "--cluster", "local")["items"]
    assert [(one["state"], one["since"] is not None) for one in listed] == [("Cordoned", True)]
    assert server.json("node", "list", "--cluster", "other")["items"] == []
    server.run("node", "uncordon", node, check=True)
    assert server.wait(job["id"])["state"] == "Succeeded"


def test_a_node_is_drained_when_its_jobs_have_ended(server: MusterServer, node: str, tmp_path: Path) -> None:
    script = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    job = server.submit({"name": "lasts", "command": ["sh", "-c", script]})
    server.wait_for_state(job["id"], "Running")
    server.run("node", "drain", node, check=True)
    described = server.run("node", "describe", f"local/{node}", check=True).stdout
    assert "draining by" in described
    assert "lasts-worker-0, Running, of" in described
    (tmp_path / "go").touch()
    drained = server.run("node", "drain", node, "--wait", check=True)
    assert f"node {node} is drained" in drained.stderr
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert "drained by" in server.json("node", "describe", node)["note"]


def test_draining_now_sends_jobs_back_to_the_queue(server: MusterServer, node: str) -> None:
    job = server.submit({"name": "requeued", "command": "sleep 60", "grace": "0s"})
    server.wait_for_state(job["id"], "Running")
    server.run("node", "drain", node, "--now", "--wait", check=True)
    queued = server.wait_for_state(job["id"], "Queued")
    assert (queued["retries"], queued["preemptions"]) == (0, 0)
    server.run("kill", "requeued", check=True)


def test_reconnecting_leaves_tasks_alone(server: MusterServer, node: str) -> None:
    job = server.submit({"name": "stays", "command": "sleep 60", "grace": "0s"})
    server.wait_for_state(job["id"], "Running")
    before = server.json("node", "describe", node)["since"]
    server.run("node", "reconnect", node, check=True)
    assert any(_is_back(server, node, before) for _ in polls(20))
    assert server.json("describe", "stays")["attempt"] == 1
    server.run("kill", "stays", check=True)
    assert server.wait(job["id"])["state"] == "Cancelled"


def _is_back(server: MusterServer, node: str, before: str) -> bool:
    now = server.json("node", "describe", node)
    return bool(now["state"] == "Ready" and now["since"] != before)


def test_a_command_prints_to_both_streams_and_its_code_is_told(server: MusterServer, node: str) -> None:
    fine = server.run("node", "exec", node, "--", "echo", "-n", "$HOME")
    assert (fine.returncode, fine.stdout) == (0, "$HOME")
    wrong = server.run("node", "exec", node, "--", "sh", "-c", "echo out; echo oh >&2; exit 7")
    assert (wrong.returncode, wrong.stdout) == (7, "out\n")
    assert wrong.stderr.splitlines() == ["oh", f"{node}: the command exited with code 7", "error: it failed"]
    told = json.loads(server.run("node", "exec", node, "-o", "json", "--", "sh", "-c", "echo out; exit 7").stdout)
    assert told == {"node": node, "exitCode": 7, "timedOut": False, "error": None, "stdout": "out\n", "stderr": ""}
    both = server.run("node", "exec", node, f"local/{node}", "--", "printf", "a\\nb")
    assert sorted(both.stdout.splitlines()) == sorted(
        f"{name:<{len(node) + 6}} | {word}" for name in (node, f"local/{node}") for word in ("a", "b")
    )


def test_a_command_that_cannot_run_or_takes_too_long_fails(server: MusterServer, node: str) -> None:
    missing = server.run("node", "exec", node, "--", "no-such-program")
    assert missing.returncode == 1
    assert "cannot run no-such-program" in missing.stderr
    long = server.run("node", "exec", node, "--timeout", "100ms", "--", "sleep", "60")
    assert (long.returncode, "took too long" in long.stderr) == (124, True)
    assert server.run("node", "exec", node).returncode == 2


def test_output_that_is_no_text_comes_as_it_is(server: MusterServer, node: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000 + "ä".encode()[:1]
    (tmp_path / "data").write_bytes(data)
    muster = Path(sys.executable).parent / "muster"
    done = subprocess.run(
        [str(muster), "node", "exec", node, "--", "cat", str(tmp_path / "data")],
        env={**os.environ, "MUSTER_HOME": str(server.home)},
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    assert done.stdout == data


def test_a_command_ends_when_its_caller_hangs_up(server: MusterServer, node: str, tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep 300"
    muster = Path(sys.executable).parent / "muster"
    with subprocess.Popen(
        [str(muster), "node", "exec", node, "--", "sh", "-c", script],
        env={**os.environ, "MUSTER_HOME": str(server.home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as caller:
        assert any((tmp_path / "pid").exists() for _ in polls(20))
        pid = int((tmp_path / "pid").read_text())
        caller.send_signal(signal.SIGINT)
        assert caller.wait(20) == 130
    assert any(not Path(f"/proc/{pid}").exists() for _ in polls(20))


def test_only_admins_act_on_nodes_and_what_they_do_is_audited(server: MusterServer, node: str) -> None:
    admin = Caller(server, server.token)
    amy = new_user(admin, "amy")
    for what, body in (("cordon", {}), ("uncordon", None), ("drain", {}), ("reconnect", None)):
        problem(amy.post(f"/nodes/{node}/{what}", body), 403, "forbidden")
    problem(amy.post(f"/nodes/{node}/exec", {"command": ["id"]}), 403, "forbidden")
    assert ok(amy.get(f"/nodes/{node}"))["login"] is None
    streamed = admin.post(f"/nodes/{node}/exec", {"command": ["echo", "audited"]})
    assert 'event: end\ndata: {"exitCode": 0, "timedOut": false}' in streamed.text
    told = ok(admin.get("/events", params={"kind": "audit.node.exec"}))["items"]
    assert [event["data"] for event in told if event["data"]["command"] == ["echo", "audited"]] == [
        {"name": node, "cluster": "local", "command": ["echo", "audited"]}
    ]
    problem(admin.post("/nodes/nowhere/cordon", {}), 404, "not-found")
