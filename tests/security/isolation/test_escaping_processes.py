"""Processes that try to outlive their task."""

import subprocess

import pytest

from muster.agent.tasks.cgroups import find_groups
from tests.parts.server import MusterServer, polls


def sleeping(seconds: str) -> list[str]:
    found = subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], check=False, capture_output=True, text=True)
    return found.stdout.split()


@pytest.mark.parametrize(
    "escape",
    [
        "env -i setsid sleep {} >/dev/null 2>&1 & exit 0",
        "(env -i setsid sh -c 'sleep {} & exit' >/dev/null 2>&1 &) ; sleep 0.2",
        "env -i setsid sleep {} >/dev/null 2>&1 & sleep 0.1; kill -9 $$",
    ],
    ids=["setsid", "double-fork", "killed-leader"],
)
def test_a_process_without_environment_and_session_dies_with_its_task(
    server: MusterServer, unique: str, escape: str
) -> None:
    """It had cleared the mark in its environment by which the processes of a task were found, and lived on."""
    if find_groups().processes is None:
        pytest.skip("this machine lets nobody make control groups")
    job = server.submit({"name": "escapes", "command": escape.format(unique)})
    server.wait(job["id"])
    for _ in polls(10):
        if not sleeping(unique):
            return
    raise AssertionError(f"still alive: {sleeping(unique)}")


def test_a_task_that_forks_without_end_is_stopped(server: MusterServer, unique: str) -> None:
    """Each generation leaves its group, session and environment before the sweep over all processes can find it."""
    if find_groups().processes is None:
        pytest.skip("this machine lets nobody make control groups")
    generations = f"while :; do env -i setsid sleep {unique} >/dev/null 2>&1 & sleep 0.01; done"
    job = server.submit({"name": "forks", "command": generations, "grace": "0s"})["id"]
    for _ in polls(20):
        if sleeping(unique):
            break
    server.call("POST", f"/api/v1/jobs/{job}/kill", {})
    assert server.wait(job)["state"] == "Cancelled"
    for _ in polls(10):
        if not sleeping(unique):
            return
    raise AssertionError(f"still alive: {sleeping(unique)}")
