"""Two servers on one home, a server told to stop, and a start with a long history."""

import http.client
import urllib.request
from pathlib import Path

from tests.parts.leftovers import task_processes
from tests.parts.server import MusterServer, polls


def test_second_server_on_one_home_refuses_and_says_why(server: MusterServer) -> None:
    second = server.run("up", "--port", "0")
    assert second.returncode == 2, "as for a port that is in use"
    assert "another server is already using" in second.stderr
    assert "hint:" in second.stderr
    assert server.call("GET", "/readyz")[0] == 200, "the first one goes on"


def test_sigterm_ends_the_server_although_it_is_followed_and_tasks_go_on(server: MusterServer, tmp_path: Path) -> None:
    command = f"echo began; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo ended"
    job = server.submit({"name": "goes-on", "command": command})["id"]
    server.wait_for_state(job, "Running")
    followers = [
        _connected(server, f"/api/v1/jobs/{job}/logs?follow=true"),
        _connected(server, "/api/v1/events?follow=true&after=0"),
    ]
    server.stop()  # which has a deadline, while the followers would stay for ever
    for follower in followers:
        follower.close()
    assert task_processes(server.home), "the task went with the server"
    server.start()
    (tmp_path / "go").touch()
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert "ended" in server.run("logs", job).stdout


def test_a_start_finds_only_what_still_runs(server: MusterServer) -> None:
    tasks, ended = server.home / "node" / "tasks", server.home / "node" / "ended"
    spec = {"command": "true", "resources": {"cpu": "10m"}}
    _, page = server.call("POST", "/api/v1/jobs:bulk", {"specs": [spec | {"name": f"done-{n}"} for n in range(60)]})
    keeper = server.submit({"name": "keeper", "command": "echo weights > model"})
    for job in [*page["items"], keeper]:
        assert server.wait(job["id"])["state"] == "Succeeded"
    server.kill()  # whatever had not been put aside yet is, after the next start
    server.start()
    for _ in polls(30):
        if not list(tasks.iterdir()):
            break
    assert list(tasks.iterdir()) == []
    server.stop()  # what was put aside and is empty goes when the node is quiet, or at the next start
    server.start()
    for _ in polls(30):
        if len(list(ended.iterdir())) == 1:
            break
    (left,) = ended.iterdir()
    assert (left / "work" / "model").read_text() == "weights\n"
    assert "weights" not in server.run("logs", "keeper").stdout
    server.call("DELETE", f"/api/v1/jobs/{keeper['id']}")
    for _ in polls(30):
        if not list(ended.iterdir()):
            break
    assert list(ended.iterdir()) == []


def _connected(server: MusterServer, path: str) -> http.client.HTTPResponse:
    """A stream that has begun to arrive."""
    request = urllib.request.Request(f"{server.url}{path}", headers={"Authorization": f"Bearer {server.token}"})
    stream: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=90)
    assert stream.readline()
    return stream
