"""Connections to ports of tasks on a real agent: no task passes as another one, whatever it says about itself."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import StartAgent
from .driver import Agent, Refused, wait_until

_LISTEN = """
import os, signal, socket, sys, time
if "daemon" in sys.argv and (os.fork() or os.setsid() or os.fork()):
    time.sleep(1000)
listening = socket.create_server(("127.0.0.1", 0))
print("listens", listening.getsockname()[1], flush=True)
time.sleep(1000)
"""


@pytest.fixture
def ground() -> Iterator[Path]:
    """Other accounts may pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="muster-connections-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def isolation(mode: str, owner: str, uid: int) -> dict[str, Any]:
    if mode == "none":
        return {}
    bounds = {"first_uid": 70000, "last_uid": 70009}
    order: dict[str, Any] = {
        "mode": mode,
        "owner": owner,
        "owner_id": "",
        "account": None,
        "uid": uid,
        "folders": [],
        **bounds,
    }
    return {"isolation": order}


def port_of(agent: Agent, task: str) -> int:
    wait_until(lambda: b"listens " in agent.log(task), f"{task} listens")
    return int(agent.log(task).split(b"listens ")[1].split()[0])


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts tasks under other accounts")
@pytest.mark.parametrize("mode", ["none", "user", "namespace"])
def test_a_task_that_says_it_is_another_one_is_neither_reached_nor_stopped_as_that(
    start_agent: StartAgent, ground: Path, mode: str
) -> None:
    agent = start_agent(ground / "root")
    listen = ("/usr/bin/python3", "-c", _LISTEN)
    agent.launch("alice", *listen, "daemon", **isolation(mode, "alice", 70001))
    said = f"MUSTER_TASK_DIR={agent.root / 'tasks' / 'alice'}"
    agent.launch("mallory", "/usr/bin/env", said, *listen, "daemon", **isolation(mode, "mallory", 70002))
    own, others = port_of(agent, "alice"), port_of(agent, "mallory")

    assert agent.ask("connect", task="alice", port=own)["connection"]
    assert agent.ask("connect", task="mallory", port=others)["connection"]
    with pytest.raises(Refused, match=f"nothing of the task listens on port {others}"):
        agent.ask("connect", task="alice", port=others)

    agent.ask("stop", task="alice", grace_s=0)
    agent.wait_phase("alice", "ended")
    with pytest.raises(Refused):
        agent.ask("connect", task="alice", port=own)
    assert agent.status("mallory")["phase"] == "running"
    assert agent.ask("connect", task="mallory", port=others)["connection"], "it was not killed with another task"
    agent.ask("stop", task="mallory", grace_s=0)
    agent.wait_phase("mallory", "ended")
