"""Two servers on one home, a server told to stop, and a start with a long history."""

import http.client
import time
import urllib.request
from pathlib import Path

import pytest

from tests.parts.leftovers import task_processes, wait_until_nothing_runs
from tests.parts.server import MusterServer


def test_second_server_on_one_home_refuses_and_says_why(server: MusterServer) -> None:
    second = server.run("up", "--port", "0")
    assert second.returncode == 1
    assert "another server already uses" in second.stderr
    assert "hint:" in second.stderr
    assert server.call("GET", "/readyz")[0] == 200, "the first one goes on"


def test_sigterm_ends_the_server_promptly_although_followed_and_tasks_go_on(
    server: MusterServer, tmp_path: Path
) -> None:
    command = f"echo began; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo ended"
    job = server.submit({"name": "goes-on", "command": command})["id"]
    server.wait_for_state(job, "Running")
    followers = [
        _connected(server, f"/api/v1/jobs/{job}/logs?follow=true"),
        _connected(server, "/api/v1/events?follow=true&after=0"),
    ]
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 5
    for follower in followers:
        follower.close()
    assert task_processes(server.home), "the task went with the server"
    server.start()
    (tmp_path / "go").touch()
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert "ended" in server.run("logs", job).stdout


@pytest.mark.slow
@pytest.mark.xfail(reason="the agent still reads the folder of every finished task when it starts", strict=False)
def test_start_does_not_look_at_a_thousand_finished_jobs(server: MusterServer) -> None:
    first = _seconds_to_restart(server)
    spec = {"command": "true", "resources": {"cpu": "10m"}}
    _, page = server.call("POST", "/api/v1/jobs:bulk", {"specs": [spec | {"name": f"done-{n}"} for n in range(1000)]})
    for job in page["items"]:
        server.wait(job["id"], 120)
    wait_until_nothing_runs(server.home)
    later = _seconds_to_restart(server)
    print(f"restart: {first:.2f} s with no history, {later:.2f} s after 1,000 jobs")
    assert later < first + 1.0


def _connected(server: MusterServer, path: str) -> http.client.HTTPResponse:
    """A stream that has begun to arrive."""
    request = urllib.request.Request(f"{server.url}{path}", headers={"Authorization": f"Bearer {server.token}"})
    stream: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=30)
    assert stream.readline()
    return stream


def _seconds_to_restart(server: MusterServer) -> float:
    server.stop()
    began = time.monotonic()
    server.start()
    return time.monotonic() - began
