"""What a runner writes down about its command: how it ended, and what it uses."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.link import Link
from muster.agent.batch.spool import END, USAGE, Gang, Spool

pytestmark = pytest.mark.fast

_TASK = "job.1.worker.0"
_OWN_GPU = {"CUDA_VISIBLE_DEVICES": "1"}
_RUN = """
import json, socket, sys
from muster.agent.batch.link import Link
from muster.agent.batch.runner import Asking, Runner
from muster.agent.batch.spool import Spool
link = Link(socket.create_connection(("127.0.0.1", int(sys.argv[3]))))
sys.exit(Runner(json.loads(sys.argv[2]), 0, Spool(sys.argv[1]), link, Asking(link)).run())
"""


@pytest.mark.parametrize("ends_by", ["kill -TERM $$", "exit 3"], ids=["signal", "exit code"])
def test_a_signal_that_comes_with_the_end_of_the_command_is_written_down(tmp_path: Path, ends_by: str) -> None:
    gang = _run(tmp_path, f"trap '' TERM; kill -TERM $PPID; trap - TERM; {ends_by}")

    end = gang.mark(_TASK, END)
    assert end is not None
    assert end["from_outside"] == signal.SIGTERM


def test_what_the_command_uses_is_written_down_while_it_runs_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_FAKE_GPUS", "2xA100")
    usage = Path(Spool(str(tmp_path)).gang_of(_TASK).task_folder(_TASK), USAGE)
    held = "held = bytearray(50 << 20); import os, time"
    wait = f"while not os.path.exists({json.dumps(str(usage))}): time.sleep(0.05)"

    gang = _run(tmp_path, f"{sys.executable} -c '{held}\n{wait}'", env=_OWN_GPU)

    sample, end = gang.mark(_TASK, USAGE), gang.mark(_TASK, END)
    assert sample is not None
    assert end is not None
    assert end["code"] == 0
    assert sample["task"]["rss_bytes"] >= 50 << 20
    assert sample["task"]["processes"] >= 1
    assert [gpu["index"] for gpu in sample["node"]["gpus"]] == [1]
    assert end["used"]["is_final"]
    assert end["used"]["memory_peak_bytes"] >= 50 << 20
    assert [gpu["index"] for gpu in end["used"]["gpus"]] == [1]


@pytest.mark.parametrize("killed", [True, False])
def test_end_of_a_command_whose_step_slurm_kills_is_left_to_the_coordinator(tmp_path: Path, killed: bool) -> None:
    gang = _run(tmp_path, "exit 0", killed=killed)

    assert (gang.mark(_TASK, END) is None) is killed


def _run(root: Path, script: str, env: Mapping[str, str] | None = None, *, killed: bool = False) -> Gang:
    """The gang of a runner that has run this. `killed` says whether its coordinator knows that Slurm kills it."""
    gang = Spool(str(root)).gang_of(_TASK)
    Spool(str(root)).make()
    gang.write_facts({"tasks": [_TASK]})
    nothing: dict[str, Any] = {
        "files": {},
        "links": {},
        "inputs": [],
        "package": None,
        "gpus": 0,
        "setup": None,
        "has_steps": False,
    }
    order: dict[str, Any] = {"id": _TASK, "argv": ["/bin/sh", "-c", script], "env": dict(env or {}), **nothing}
    with socket.create_server(("127.0.0.1", 0)) as coordinator:
        port = str(coordinator.getsockname()[1])
        argv = [sys.executable, "-c", _RUN, str(root), json.dumps(order), port]
        with subprocess.Popen(argv) as runner:
            _answer(coordinator, killed)
            runner.wait(60)
    return gang


def _answer(coordinator: socket.socket, killed: bool) -> None:
    """Until the runner has ended."""
    coordinator.settimeout(60)
    connection, _ = coordinator.accept()
    connection.settimeout(60)
    link = Link(connection)
    while link.is_open:
        for message in link.receive():
            if message["what"] == "ending":
                link.send({"what": "answer", "killed": killed})
