"""What the client does when the server says: not now, try again later."""

from dataclasses import replace

import pytest

from muster.client import MusterError
from muster.client.transport import API, Request, Transport
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast

TOO_MANY = problem(429, "too-many-requests", "too many uploads")
FINE = Answer(200, {"user": "li"})


def after(answer: Answer, seconds: int) -> Answer:
    return replace(answer, headers={"Retry-After": str(seconds)})


def test_the_client_waits_as_long_as_the_server_asks(server: TinyServer) -> None:
    server.on("GET", "/whoami", after(TOO_MANY, 3), after(problem(503, "unavailable", "busy"), 7), FINE)
    slept: list[float] = []
    answer = Transport(server.url, None, sleep=slept.append).json(Request("GET", API + "/whoami"))
    assert answer == {"user": "li"}
    assert slept == [3.0, 7.0]


def test_a_refused_request_is_sent_again_even_if_it_must_not_happen_twice(server: TinyServer) -> None:
    server.on("POST", "/users", after(TOO_MANY, 1), FINE)
    Transport(server.url, None, sleep=lambda _: None).json(Request("POST", API + "/users", repeatable=False))
    assert len(server.requests("POST", "/users")) == 2


def test_a_wait_that_is_too_long_for_a_person_is_an_error_at_once(server: TinyServer) -> None:
    server.on("POST", "/login", after(problem(429, "too-many-requests", "too many failed logins"), 60))
    with pytest.raises(MusterError, match="too many failed logins") as caught:
        Transport(server.url, None, sleep=lambda _: None).json(Request("POST", API + "/login"))
    assert caught.value.retry_after_s == 60.0
    assert len(server.requests("POST", "/login")) == 1


def test_the_client_gives_up_after_some_tries(server: TinyServer) -> None:
    server.on("GET", "/whoami", after(TOO_MANY, 1))
    with pytest.raises(MusterError, match="too many uploads"):
        Transport(server.url, None, sleep=lambda _: None).json(Request("GET", API + "/whoami"))
    assert len(server.requests("GET", "/whoami")) == 4
