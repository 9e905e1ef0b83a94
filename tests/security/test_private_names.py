"""With private jobs, nobody learns the names, ids or owners of others' jobs, whatever they ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user, unique
from tests.integration.api.rights_table import TABLE
from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, running_server
from tests.security.access_server import until

VCS = "{name: default, policy: fifo, userLimits: {runningJobs: 5}, limits: {queuedJobs: 100}}\n"
STUBBORN = "trap '' TERM; touch {mark}; while [ ! -e {go} ]; do sleep 0.05; done"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("private-names")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "vcs.yaml").write_text(VCS)
    with running_server(home, {"MUSTER_PRIVATE_JOBS": "true", "MUSTER_FAKE_GPUS": "2xA100"}) as running:
        yield running


def gpu_job(name: str, command: str = "sleep 600", **more: Any) -> dict[str, Any]:
    return {"name": unique(name), "command": command, "resources": {"gpu": 2, "cpu": "100m"}, **more}


def crawled(server: MusterServer, who: Caller, jobs: list[str]) -> Iterator[tuple[str, str]]:
    """Everything that can be read: all lists, and every GET on each of the own jobs, on nodes and virtual clusters."""
    node = ok(who.get("/nodes"))["items"][0]["name"]
    things = {"ref": jobs, "name": [node, "default"], "cluster": ["local"], "path": ["x"], "digest": ["0" * 64]}
    for row in TABLE:
        if row.method != "GET" or row.route.startswith("/portal/"):
            continue
        keys = [key for key in things if f"{{{key}}}" in row.route]
        paths = [row.route.replace(f"{{{keys[0]}}}", value) for value in things[keys[0]]] if keys else [row.route]
        for path in paths:
            query = {"path": "x", "sha256": "0" * 64} if "/files" in path else {}
            query |= {"limit": "1000"} if path.endswith("/events") else {}
            query |= {"timeout": "0"} if path.endswith("/wait") else {}
            query |= {"what_if": "priority=low"} if path.endswith("/explain") else {}
            answer = httpx.get(
                server.url + path.replace("{path}", "x"),
                params=query,
                headers={"Authorization": f"Bearer {who.token}"},
                timeout=60,
            )
            assert answer.status_code < 500 or row.route == "/readyz", (path, answer.text)
            yield path, answer.text


def assert_nothing_leaks(server: MusterServer, who: Caller, jobs: list[str], secrets: list[str]) -> None:
    found = {(path, secret) for path, text in crawled(server, who, jobs) for secret in secrets if secret in text}
    assert not found


def test_no_answer_names_another_users_job(server: MusterServer, tmp_path: Path) -> None:
    open_to_all(tmp_path)
    admin = Caller(server, server.token)
    victim, spy = new_user(admin, "victim"), new_user(admin, "spy")
    marks = [tmp_path / name for name in ("first", "second")]
    go = tmp_path / "go"

    running = victim.submit(gpu_job("hidden-a", STUBBORN.format(mark=marks[0], go=go), grace="10m"))
    until(marks[0].exists)
    waiting = victim.submit(gpu_job("hidden-b", timeLimit="1h"))
    behind = spy.submit(gpu_job("spy-a"))
    secrets = [victim.name, *(job[key] for job in (running, waiting) for key in ("id", "name"))]
    reasons = told(spy, behind["id"])
    assert {"behind", "reserved"} & {one["code"] for one in reasons}, reasons
    assert_nothing_leaks(server, spy, [behind["id"]], secrets)
    assert ok(spy.get("/jobs", params={"owner": victim.name}))["items"] == []
    seen_by_owner = told(victim, waiting["id"])
    assert seen_by_owner[0]["code"] != "behind"

    # The spy's urgent job preempts the victim's, which takes its time to stop.
    urgent = spy.submit(gpu_job("spy-b", f"touch {marks[1]}; sleep 600", priority="urgent"))
    until(lambda: "being-left" in {one["code"] for one in told(spy, urgent["id"])})
    (leaving,) = told(spy, urgent["id"])
    assert leaving["message"] == "its resources are assigned; another job is still stopping there"
    assert_nothing_leaks(server, spy, [behind["id"], urgent["id"]], secrets)
    victims = ok(victim.get(f"/jobs/{running['id']}"))
    assert victims["reason"] == "was preempted by another job"
    spied = [spy.name, urgent["id"], urgent["name"]]
    assert_nothing_leaks(server, victim, [running["id"], waiting["id"]], spied)

    # The victim's job takes what the spy's has: its owner reads why, and not for whom.
    go.touch()
    until(marks[1].exists)
    ok(spy.post(f"/jobs/{urgent['id']}/kill", {"grace": "0s"}), 202)
    ok(victim.post(f"/jobs/{waiting['id']}/kill"), 202)
    server.wait(running["id"])
    server.wait_for_state(behind["id"], "Running")
    winner = victim.submit(gpu_job("hidden-c", priority="urgent"))
    server.wait_for_state(winner["id"], "Running")
    lost = ok(spy.get(f"/jobs/{behind['id']}"))
    assert lost["preemptions"] == 1
    assert "was preempted by another job" in spy.get(f"/jobs/{behind['id']}/events", params={"limit": 1000}).text
    assert_nothing_leaks(server, spy, [behind["id"]], [*secrets, winner["id"], winner["name"]])

    # Admins read everything, and owners what is their own.
    assert winner["name"] in admin.get("/jobs").text
    mine = victim.submit(gpu_job("hidden-d"))
    assert winner["name"] in str([*told(victim, mine["id"]), ok(victim.get("/jobs"))])
    for job in (winner, mine):
        ok(victim.post(f"/jobs/{job['id']}/kill", {"grace": "0s"}), 202)
    ok(spy.post(f"/jobs/{behind['id']}/kill", {"grace": "0s"}), 202)


def told(who: Caller, job: str) -> list[dict[str, Any]]:
    for _ in range(100):
        reasons: list[dict[str, Any]] = ok(who.get(f"/jobs/{job}/explain"))["reasons"]
        if reasons:
            return reasons
    return []
