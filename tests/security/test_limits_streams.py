"""Streams are bounded for each user, and end soon after the user's token does."""

import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    home = tmp_path_factory.mktemp("bounded")
    (home / "config.yaml").write_text("limits: {streamsPerUser: 2, uploadsPerUser: 4}\ntrustedProxies: [127.0.0.1]\n")
    with running_server(home) as server:
        yield Caller(server, server.token)


def ends(user: Caller, act: Callable[[], object]) -> list[str]:
    """Opens a stream, acts, and returns what the stream still sent until its end."""
    headers = {"Authorization": f"Bearer {user.token}"}
    url = f"{user.server.url}/api/v1/events?follow=true"
    with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()
        assert next(lines) == ": connected"
        act()
        return list(lines)


def test_a_user_has_a_bounded_number_of_streams(admin: Caller) -> None:
    user = new_user(admin, "streamer", password=None)
    with user.stream("/events?follow=true"), user.stream("/events?follow=true"):
        refused = user.get("/events?follow=true")
        assert "close other browsers" in problem(refused, 429, "too-many-requests")["hint"]
        assert refused.headers["retry-after"] == "1"
        with admin.stream("/events?follow=true"):
            pass
    for _ in polls(20):  # the server notices a closed connection soon, not at once
        if streams_of(user) == 0:
            break
    with user.stream("/events?follow=true"):
        assert streams_of(user) == 1


def test_live_pages_count_as_streams_of_their_user(admin: Caller) -> None:
    user = new_user(admin, "viewer", password=None)
    with user.stream("/live?topics=jobs"), user.stream("/events?follow=true"):
        problem(user.get("/live?topics=jobs"), 429, "too-many-requests")
        job = user.submit({"name": "read", "command": "true", "hold": True})["id"]
        assert user.get(f"/jobs/{job}/logs").status_code == 200, "what ends by itself is no stream"
        assert streams_of(user) == 2
    for _ in polls(20):
        if streams_of(user) == 0:
            return
    raise AssertionError("closed streams still count")


def streams_of(user: Caller) -> int:
    (found,) = [item for item in ok(user.get("/quotas"))["items"] if item["kind"] == "streams"]
    return int(found["used"])


def test_a_stream_ends_when_its_token_is_revoked(admin: Caller) -> None:
    user = new_user(admin, "revoked", password=None)
    made = ok(user.post("/tokens", {"name": "streaming"}), 201)
    streaming = Caller(admin.server, made["secret"], user.name)
    ends(streaming, lambda: user.send("DELETE", f"/tokens/{made['id']}"))
    problem(streaming.get("/events?follow=true"), 401, "not-authenticated")


def test_a_stream_ends_when_its_user_is_disabled_or_removed(admin: Caller) -> None:
    for method, body in (("PATCH", {"disabled": True}), ("DELETE", None)):
        user = new_user(admin, "leaver", password=None)
        path = f"/users/{user.name}"
        ends(user, partial(admin.send, method, path, json=body))
        problem(user.get("/whoami"), 401, "not-authenticated")


def test_twelve_thousand_unknown_keys_are_refused_with_a_hundred_problems(admin: Caller) -> None:
    spec = {"name": "a", "command": "true", **{f"key{n}": 1 for n in range(12_000)}}
    answer = admin.post("/jobs", {"spec": spec})
    assert len(problem(answer, 422, "invalid")["problems"]) == 100


def test_a_login_of_seven_megabytes_is_refused(admin: Caller) -> None:
    problem(admin.post("/login", {"user": "x" * 7_000_000, "password": "x"}), 413, "too-large")


def test_the_cookie_of_a_login_through_an_https_proxy_is_secure(admin: Caller) -> None:
    forwarded = {"X-Muster-Request": "1", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.5"}
    answer = httpx.post(f"{admin.server.url}/api/v1/login", json={"token": admin.token}, headers=forwarded)
    assert "; Secure" in answer.headers["set-cookie"]
    plain = httpx.post(
        f"{admin.server.url}/api/v1/login", json={"token": admin.token}, headers={"X-Muster-Request": "1"}
    )
    assert "; Secure" not in plain.headers["set-cookie"]


def test_an_upload_still_works(admin: Caller) -> None:
    data = b"archive"
    digest = hashlib.sha256(data).hexdigest()
    ok(admin.send("PUT", f"/packages/{digest}", params={"size": len(data)}, content=data))


def test_forwarded_headers_of_a_stranger_are_not_believed(muster_server: MusterServer) -> None:
    headers = {"X-Muster-Request": "1", "X-Forwarded-Proto": "https"}
    answer = httpx.post(f"{muster_server.url}/api/v1/login", json={"token": muster_server.token}, headers=headers)
    assert "; Secure" not in answer.headers["set-cookie"]


def test_a_request_key_with_another_body_is_refused_with_the_reason(admin: Caller) -> None:
    key = {"Idempotency-Key": "the-key"}
    first = ok(admin.post("/jobs", {"spec": {"name": "keyed", "command": "true", "hold": True}}, headers=key), 201)
    again = admin.post("/jobs", {"spec": {"hold": True, "command": "true", "name": "keyed"}}, headers=key)
    assert ok(again, 200)["id"] == first["id"]
    other = admin.post("/jobs", {"spec": {"name": "other", "command": "true"}}, headers=key)
    assert "another request" in problem(other, 409, "conflict")["detail"]


def test_a_narrow_token_cannot_make_a_wider_one(admin: Caller) -> None:
    made = ok(admin.post("/tokens", {"name": "ci", "scope": "submit"}), 201)
    narrow = Caller(admin.server, made["secret"])
    problem(narrow.post("/tokens", {"name": "more"}), 403, "forbidden")
    problem(narrow.post("/users", {"name": "eve"}), 403, "forbidden")
    assert [token["user"] for token in ok(narrow.get("/tokens"))["items"]]
    ok(narrow.post("/jobs", {"spec": {"name": "by-ci", "command": "true", "hold": True}}), 201)


def test_metrics_need_a_token_on_the_same_machine_too(admin: Caller) -> None:
    assert httpx.get(f"{admin.server.url}/metrics").status_code == 401
    assert admin.server.call("GET", "/metrics")[0] == 200


def test_an_admin_is_recovered_while_the_server_runs(admin: Caller) -> None:
    done = admin.server.run("server", "recover-admin", "saviour", check=True)
    assert ok(Caller(admin.server, done.stdout.strip()).get("/whoami"))["role"] == "admin"


def test_servers_that_wait_for_news_of_their_jobs_are_bounded(admin: Caller) -> None:
    user = new_user(admin, "front", password=None)
    path = f"/jobs:handed-on?server={'0' * 16}&cluster=far"
    tag = ok(user.get(path))["tag"]
    request = f"GET /api/v1{path}&known={tag}&wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {user.token}\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(16):
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", user.server.port), 20))
            waiting.sendall(request.encode())
        for _ in polls(20):
            if user.get(path).status_code == 429:
                break
        problem(user.get(path), 429, "too-many-requests")
        ok(admin.get(path))
    for _ in polls(20):
        if user.get(path).status_code == 200:
            return
    raise AssertionError("servers that left still count")
