"""Packages as part of a launch: the folder the command starts in."""

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from .conftest import StartAgent
from .driver import Agent


def pack(path: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return {"digest": "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest(), "path": str(path)}


def test_command_starts_in_the_unpacked_package(agent: Agent, tmp_path: Path) -> None:
    package = pack(tmp_path / "p.tar.gz", {"src/train.sh": "echo trained", "readme": "hi"})
    ended = agent.run("t", "/bin/sh", "src/train.sh", package=package)
    assert ended["exit_code"] == 0
    assert agent.log("t") == b"trained\n"
    assert sorted(path.name for path in (agent.root / "tasks/t").iterdir()) == [
        "exit",
        "log",
        "log.times",
        "metrics",
        "muster.zip",
        "rusage",
        "started",
        "task.json",
        "used",
        "work",
    ]


def test_package_with_another_digest_ends_the_task_with_a_reason_that_outlives_the_agent(
    start_agent: StartAgent, tmp_path: Path
) -> None:
    agent = start_agent()
    package = {**pack(tmp_path / "p.tar.gz", {"a": "b"}), "digest": "0" * 64}
    agent.launch("t", "/bin/true", package=package)
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["error"]["code"]) == (None, "package")
    assert "digest" in ended["error"]["message"]
    agent.close()
    assert start_agent().status("t")["error"] == ended["error"]


def test_missing_package_ends_the_task_with_a_reason(agent: Agent, tmp_path: Path) -> None:
    agent.launch("t", "/bin/true", package={"digest": "0" * 64, "path": str(tmp_path / "none")})
    assert agent.wait_phase("t", "ended")["error"]["code"] == "package"


def test_stop_while_the_package_is_unpacked_means_it_never_starts(agent: Agent, tmp_path: Path) -> None:
    fifo = tmp_path / "slow.tar.gz"
    os.mkfifo(fifo)  # unpacking waits here until somebody writes
    agent.launch("t", "/bin/true", package={"digest": "0" * 64, "path": str(fifo)})
    assert agent.status("t")["phase"] == "preparing"
    answer = agent.ask("stop", task="t", grace_s=5)
    assert (answer["phase"], answer["status"]["stopped"], answer["status"]["error"]) == ("ended", True, None)
    with fifo.open("wb") as slow:
        slow.write(b"nonsense")
    assert agent.run("next", "/bin/true")["exit_code"] == 0
    assert agent.status("t") == answer["status"]
