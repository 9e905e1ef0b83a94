"""The agent hangs and says nothing: its silence is heard, another one takes its place, and tasks do not notice."""

import os
import signal
from pathlib import Path

from tests.parts.leftovers import agent_processes, task_processes
from tests.parts.server import MusterServer, polls


def test_a_frozen_agent_is_replaced_and_its_tasks_run_on(server: MusterServer, tmp_path: Path) -> None:
    script = f"echo x >> {tmp_path}/ran; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo ended"
    job = server.submit({"name": "goes-on", "command": ["sh", "-c", script]})["id"]
    server.wait_for_state(job, "Running")
    before = set(task_processes(server.home))
    (frozen,) = agent_processes(server.home)
    os.kill(frozen, signal.SIGSTOP)
    assert any(_state(server) == "Unreachable" for _ in polls(60)), "nobody heard the silence"
    assert any(_state(server) == "Ready" for _ in polls(60)), "no agent took its place"
    assert frozen not in agent_processes(server.home)
    assert before & set(task_processes(server.home)), "the task went with its agent"
    (tmp_path / "go").touch()
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert (tmp_path / "ran").read_text() == "x\n"
    assert server.run("logs", job).stdout.count("ended") == 1


def _state(server: MusterServer) -> object:
    _, page = server.call("GET", "/api/v1/nodes")
    return page["items"][0]["state"]
