"""Starts agents under the Pythons found here, and leaves no process behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from muster.agent.system.processes import boot_id, is_alive
from muster.agent.tasks.records import read_started

from .driver import Agent

StartAgent = Callable[..., Agent]


def _oldest_python() -> str | None:
    """MUSTER_AGENT_PYTHON, a python3.8 on the PATH, or one that pyenv keeps; if it really runs (a stub may not)."""
    candidates = [os.environ.get("MUSTER_AGENT_PYTHON"), shutil.which("python3.8"), *_pyenv_pythons()]
    for candidate in filter(None, candidates):
        found = _output(candidate, "-c", "import sys; print(sys.executable)")
        if found:
            return found
    return None


def _pyenv_pythons() -> list[str]:
    pyenv = shutil.which("pyenv")
    versions = _output(pyenv, "versions", "--bare").split() if pyenv else []
    return [f"{_output(str(pyenv), 'prefix', name)}/bin/python" for name in versions if name.startswith("3.8.")]


def _output(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


OLDEST = _oldest_python()


@pytest.fixture(params=["current", "oldest"] if OLDEST else ["current"])
def python(request: pytest.FixtureRequest) -> str:
    """Without a Python 3.8 there are no tests for it; one test says so, in test_agent_node."""
    return OLDEST if request.param == "oldest" and OLDEST else sys.executable


@pytest.fixture
def start_agent(python: str, tmp_path: Path) -> Iterator[StartAgent]:
    """Start an agent on this test's root; a second call is the next agent on the same root."""
    started: list[Agent] = []

    def start(root: Path | None = None, *arguments: str, around: Sequence[str] = (), **env: str) -> Agent:
        """`around` is a command in front of the agent's own."""
        agent = Agent([*around, python, "-m", "muster.agent", *arguments], root or tmp_path / "root", env)
        started.append(agent)
        return agent

    yield start
    for agent in started:
        if agent.process.poll() is None:
            agent.kill()
        _kill_tasks(agent.root)


@pytest.fixture
def agent(start_agent: StartAgent) -> Agent:
    return start_agent()


def _kill_tasks(root: Path) -> None:
    """Only what really is the command that was started: its number may be somebody else's by now, or of a machine
    within this one."""
    for folder in root.glob("tasks/*"):
        record = read_started(str(folder))
        if record is not None and record.leader is not None and is_alive(record.leader, boot_id()):
            os.killpg(record.leader.pid, signal.SIGKILL)
