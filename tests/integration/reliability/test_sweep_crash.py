"""A server that is killed while it makes members of a sweep: each is made once, and a repeated request makes none."""

import urllib.request
from json import dumps, loads
from pathlib import Path
from typing import Any

import pytest

from muster.engine.sweeps.members import MOST_AT_ONCE
from tests.parts.server import MusterServer, polls, running_server

COUNT = 3 * MOST_AT_ONCE + 10
KILLS = 3


def submit(server: MusterServer, key: str) -> Any:
    spec = {"name": "search", "command": "true", "after": ["blocker"], "sweep": {"seeds": COUNT}}
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    request = urllib.request.Request(f"{server.url}/api/v1/sweeps", dumps({"spec": spec}).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return loads(answer.read())


def made(server: MusterServer) -> int:
    return int(server.call("GET", "/api/v1/sweeps/search")[1]["made"])


@pytest.mark.timeout(1200)
def test_members_are_made_exactly_once_however_often_the_server_is_killed(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        server.submit({"name": "blocker", "command": "true", "hold": True})
        first = submit(server, "one")
        for _ in range(KILLS):
            server.kill()
            server.start()
            assert submit(server, "one")["id"] == first["id"]
        for _ in polls(120):
            if made(server) == COUNT:
                break
        numbers: list[int] = []
        after: int | None = 0
        while after is not None:
            page = server.call("GET", f"/api/v1/sweeps/search/members?limit=300&after={after}")[1]
            numbers += [one["member"] for one in page["items"]]
            after = page["nextMember"]
        assert numbers == list(range(1, COUNT + 1))
        listed = server.run("get", "jobs")
        assert "search-1" not in listed.stdout
        assert f"{COUNT} jobs are members of sweeps" in listed.stderr
        server.run("sweep", "stop", "search")
        for _ in polls(120):
            if server.json("sweep", "describe", "search", "--limit", "1", "-o", "json")["state"] == "Cancelled":
                return
        raise AssertionError("the sweep was not stopped")
