"""Secrets stay where they belong: not in logs, events, lists or arguments of processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import unique
from tests.parts.server import MusterServer, running_server

ENVIRONMENT_SECRET = "env-3f9a1c-secret"
PASSWORD = "password-77b2e0-secret"


@pytest.fixture
def loud_server(tmp_path: Path) -> Iterator[MusterServer]:
    """Says as much as it can."""
    with running_server(tmp_path / "home", {"MUSTER_LOG_LEVEL": "debug", "MUSTER_LOG_FILE": "server.log"}) as server:
        yield server


def test_no_secret_leaves_its_place(loud_server: MusterServer) -> None:
    server, admin = loud_server, Caller(loud_server, loud_server.token)
    ok(admin.post("/users", {"name": "somebody", "password": PASSWORD}), 201)
    session = ok(Caller(server).post("/login", {"user": "somebody", "password": PASSWORD}))["token"]
    Caller(server).post("/login", {"user": "somebody", "password": PASSWORD + "wrong"})
    personal = ok(admin.post("/tokens", {"name": "personal"}), 201)["secret"]
    spec = {"name": unique("keeper"), "command": "sleep 60", "env": {"API_KEY": ENVIRONMENT_SECRET}, "replicas": 2}
    job = admin.submit(spec)["id"]
    server.wait_for_state(job, "Running")

    arguments = _command_lines()
    shown = {
        "events": admin.get("/events?limit=1000").text,
        "jobs": admin.get("/jobs").text,
        "tasks": admin.get(f"/jobs/{job}/tasks").text,
        "explain": admin.get(f"/jobs/{job}/explain").text,
        "tokens": admin.get("/tokens").text,
        "users": admin.get("/users").text,
        "usage": admin.get("/usage").text,
        "arguments": arguments,
        "server's log": (server.home / "stderr.log").read_text(),
        "its log file": (server.home / "server.log").read_text(),
    }
    for secret in (ENVIRONMENT_SECRET, PASSWORD, session, personal, server.token):
        assert [place for place, text in shown.items() if secret in text] == []
    assert "sleep 60" in arguments
    ok(admin.post(f"/jobs/{job}/kill", {"grace": "0s"}), 202)
    server.wait(job)


def test_tokens_and_passwords_are_not_in_the_database(loud_server: MusterServer) -> None:
    admin = Caller(loud_server, loud_server.token)
    ok(admin.post("/users", {"name": "somebody", "password": PASSWORD}), 201)
    secret = ok(admin.post("/tokens", {"name": "personal"}), 201)["secret"]
    stored = b"".join(path.read_bytes() for path in loud_server.home.glob("muster.db*"))
    assert b"somebody" in stored
    for word in (PASSWORD, secret, loud_server.token):
        assert word.encode() not in stored


def _command_lines() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it has ended
    return "\n".join(lines)
