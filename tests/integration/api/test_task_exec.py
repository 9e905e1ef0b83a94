"""The WebSocket on which a command runs in a task: who may open one, what is recorded, and what it refuses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from httpx2.websockets import WebSocketUpgradeError

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import polls


@contextmanager
def opened(caller: Caller, ref: str, verb: str = "exec", **headers: str) -> Iterator[Any]:
    sent = {"Authorization": f"Bearer {caller.token}"} if caller.token else {}
    with (
        httpx2.Client(timeout=60) as client,
        client.websocket(f"{caller.server.url}/api/v1/jobs/{ref}/{verb}", headers={**sent, **headers}) as socket,
    ):
        yield socket


def refusal(caller: Caller, ref: str, verb: str = "exec", **headers: str) -> int:
    with pytest.raises(WebSocketUpgradeError) as refused, opened(caller, ref, verb, **headers):
        pass
    return int(refused.value.response.status_code)


def running(caller: Caller) -> str:
    job = caller.submit({"name": unique("exec"), "command": "sleep 1000"})
    for _ in polls(60):
        if ok(caller.get(f"/jobs/{job['id']}"))["state"] == "Running":
            return str(job["id"])
    raise AssertionError("the job does not run")


def said(socket: Any, **order: Any) -> tuple[bytes, Any]:
    """What the command prints, and the last message."""
    socket.send_text(json.dumps(order))
    printed = b""
    while True:
        message = socket.receive()
        if hasattr(message, "data") and isinstance(message.data, str):
            told = json.loads(message.data)
            if told["type"] in ("end", "failed"):
                return printed, told
        elif hasattr(message, "data"):
            printed += bytes(message.data)[1:]


@pytest.fixture(scope="module")
def job(people: People) -> Iterator[str]:
    made = running(people.owner)
    yield made
    ok(people.owner.post(f"/jobs/{made}/kill", {"grace": "0s"}), 202)


@pytest.mark.parametrize("who", ["owner", "admin"])
def test_owners_and_admins_may_and_it_is_recorded_without_the_command(people: People, job: str, who: str) -> None:
    caller: Caller = getattr(people, who)
    with opened(caller, job) as socket:
        printed, end = said(socket, command=["echo", "typed-secret"])
    assert (printed, end["type"], end["exitCode"]) == (b"typed-secret\n", "end", 0)
    events = ok(people.admin.get(f"/jobs/{job}/events"))["items"]
    found = [event for event in events if event["kind"] == "audit.job.exec" and event["actor"] == whoami(caller)]
    assert found
    assert found[-1]["data"]["task"].endswith("worker-0")
    assert "typed-secret" not in json.dumps(events)


def whoami(caller: Caller) -> str:
    return str(ok(caller.get("/whoami"))["user"])


def test_others_are_refused_as_for_logs(people: People, job: str) -> None:
    assert refusal(people.other, job) == people.other.get(f"/jobs/{job}/logs").status_code == 403
    assert refusal(people.owner, "no-such-job") == 404
    for who in (people.nobody, people.disabled, people.expired, people.revoked):
        assert refusal(who, job) == 401


def test_only_owners_and_admins_attach_and_it_is_recorded(people: People) -> None:
    made = str(people.owner.submit({"name": unique("attach"), "command": "cat", "stdin": True})["id"])
    for _ in polls(60):
        if ok(people.owner.get(f"/jobs/{made}"))["state"] == "Running":
            break
    assert refusal(people.other, made, "attach") == 403
    assert refusal(people.owner, "no-such-job", "attach") == 404
    assert refusal(people.nobody, made, "attach", Cookie=f"muster_session={people.owner.token}") == 401
    reading = ok(people.owner.post("/tokens", {"name": unique("read"), "scope": "read"}), 201)
    assert refusal(Caller(people.server, reading["secret"]), made, "attach") == 403
    with opened(people.owner, made, "attach") as socket:
        socket.send_text("{}")
        assert json.loads(socket.receive_text())["type"] == "started"
        socket.send_bytes(b"\0typed-secret\n")
        assert socket.receive_bytes() == b"\1typed-secret\n"
    with opened(people.admin, made, "attach") as socket:
        socket.send_text("{}")
        assert json.loads(socket.receive_text())["type"] == "started"
        socket.send_text(json.dumps({"type": "eof"}))
        assert said_last(socket)["exitCode"] == 0
    events = ok(people.admin.get(f"/jobs/{made}/events"))["items"]
    actors = [event["actor"] for event in events if event["kind"] == "audit.job.attach"]
    assert actors == [whoami(people.owner), whoami(people.admin)]
    assert "typed-secret" not in json.dumps(events)


def said_last(socket: Any) -> Any:
    while True:
        message = socket.receive()
        if hasattr(message, "data") and isinstance(message.data, str):
            return json.loads(message.data)


def test_private_jobs_are_not_there_for_others(private_people: People) -> None:
    made = running(private_people.owner)
    assert refusal(private_people.other, made) == 404
    ok(private_people.owner.post(f"/jobs/{made}/kill", {"grace": "0s"}), 202)


def test_a_token_that_only_reads_runs_no_command(people: People, job: str) -> None:
    reading = ok(people.owner.post("/tokens", {"name": unique("read"), "scope": "read"}), 201)
    assert refusal(Caller(people.server, reading["secret"]), job) == 403


def test_a_cookie_opens_nothing(people: People, job: str) -> None:
    """A page of another site can open a WebSocket in the name of its visitor."""
    cookie = f"muster_session={people.owner.token}"
    assert refusal(people.nobody, job, Cookie=cookie, Origin="https://elsewhere.example") == 401


def test_a_command_ends_with_the_token_it_was_started_with(people: People, job: str) -> None:
    brief = ok(people.owner.post("/tokens", {"name": unique("brief")}), 201)
    with opened(Caller(people.server, brief["secret"]), job) as socket:
        socket.send_text(json.dumps({"command": ["sleep", "1000"]}))
        assert json.loads(socket.receive_text())["type"] == "started"
        ok(people.owner.send("DELETE", f"/tokens/{brief['id']}"), 204)
        told = json.loads(socket.receive_text())
    assert (told["type"], told["code"]) == ("failed", "not-authenticated")


def test_what_is_wrong_with_a_command_is_said(people: People, job: str) -> None:
    wrong: list[dict[str, Any]] = [{}, {"command": []}, {"command": ["true"], "terminal": {"rows": 0, "columns": 1}}]
    for order in (*wrong, {"other": 1}):
        with opened(people.owner, job) as socket:
            _, told = said(socket, **order)
        assert (told["type"], told["status"]) == ("failed", 422), order
    with opened(people.owner, job) as socket:
        _, told = said(socket, command=["true"], task="worker-7")
    assert (told["type"], told["status"]) == ("failed", 404)


def test_a_user_has_a_bounded_number_of_commands(people: People) -> None:
    user = new_user(people.admin, "busy")
    made = running(user)
    sockets: list[Any] = []
    try:
        for _ in range(32):
            context = opened(user, made)
            socket = context.__enter__()
            sockets.append((context, socket))
        assert refusal(user, made) == 429
    finally:
        for context, _ in sockets:
            context.__exit__(None, None, None)
    for _ in polls(60):
        try:
            with opened(user, made) as socket:
                assert said(socket, command=["true"])[1]["exitCode"] == 0
            break
        except WebSocketUpgradeError:
            continue
    else:
        raise AssertionError("what was closed still counts")
    ok(user.post(f"/jobs/{made}/kill", {"grace": "0s"}), 202)
