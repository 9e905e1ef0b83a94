"""Servers of their own for tests that are unkind to them. Each must leave no process of its home behind."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.parts.leftovers import agent_processes, task_processes, wait_until_agents_left, wait_until_nothing_runs
from tests.parts.server import MusterServer, end_all_jobs

ENVIRONMENT = {"MUSTER_FAKE_GPUS": "4xA100", "MUSTER_LOG_LEVEL": "info"}


@contextmanager
def unkindly_treated(home: Path, database: str | None = None) -> Iterator[MusterServer]:
    """Not started yet. At the end the jobs are ended, the server stopped, and nothing may be left."""
    env = ENVIRONMENT | ({"MUSTER_DATABASE": database} if database else {})
    server = MusterServer(home, env)
    try:
        yield server
    finally:
        end_all_jobs(server)
        server.stop()
        try:
            wait_until_agents_left(home)
            wait_until_nothing_runs(home)
        finally:
            for pid in [*agent_processes(home), *task_processes(home)]:
                os.kill(pid, signal.SIGKILL)  # the test has failed; the next one shall not suffer for it


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    """For one test alone, which may kill it."""
    with unkindly_treated(tmp_path / "home") as server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """For tests whose tasks are unkind, but not to the server."""
    with unkindly_treated(tmp_path_factory.mktemp("home")) as server:
        server.start()
        yield server
