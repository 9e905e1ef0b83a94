"""Starts agents under the Pythons found here, and leaves no process behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .driver import Agent, is_running

StartAgent = Callable[..., Agent]


def _oldest_python() -> str | None:
    """MUSTER_AGENT_PYTHON, or a python3.8 on the PATH that really runs (a version manager's stub may not)."""
    candidates = [os.environ.get("MUSTER_AGENT_PYTHON"), shutil.which("python3.8")]
    for candidate in filter(None, candidates):
        command = [candidate, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


OLDEST = _oldest_python()


@pytest.fixture(params=["current", "oldest"])
def python(request: pytest.FixtureRequest) -> str:
    if request.param == "current":
        return sys.executable
    if OLDEST is None:
        pytest.skip("no Python 3.8: set MUSTER_AGENT_PYTHON or put python3.8 on the PATH")
    return OLDEST


@pytest.fixture
def start_agent(python: str, tmp_path: Path) -> Iterator[StartAgent]:
    """Start an agent on this test's root; a second call is the next agent on the same root."""
    started: list[Agent] = []

    def start(root: Path | None = None, *arguments: str, **env: str) -> Agent:
        agent = Agent([python, "-m", "muster.agent", *arguments], root or tmp_path / "root", env)
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
    for record in root.glob("tasks/*/started"):
        words = record.read_text().split()
        if len(words) == 3 and is_running(int(words[0])):
            os.killpg(int(words[0]), signal.SIGKILL)
