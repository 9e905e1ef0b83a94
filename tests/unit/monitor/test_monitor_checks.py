"""Checks of receivers: why one failed, in one reason, and within the time that it has."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.monitor.outcomes import Outcome, ReasonCode, Step
from muster.monitor.receiver_calls import Receiver
from muster.monitor.receiver_checks import ReceiverChecks
from tests.parts.dripping import dripping
from tests.parts.mail_server import own_tls_context
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer, problem

pytestmark = pytest.mark.fast

PATIENT_S = 20.0
READY = Answer(200, {"ready": True, "readyNodes": {"local": 1}})
WRITES = Answer(200, {"databaseMs": 1.0, "diskMs": 1.0, "installation": "abc"})


@pytest.fixture
def server() -> Iterator[TinyServer]:
    running = TinyServer()
    running.on("GET", "/healthz", Answer(200, b"ok\n"))
    running.on("GET", "/readyz", READY)
    running.on("POST", "/server/write-check", WRITES)
    yield running
    running.stop()


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[TinyServer]:
    context, _ = own_tls_context(tmp_path)
    running = TinyServer(context)
    yield running
    running.stop()


def checked(url: str, token: str = "mst_secret", timeout_s: float = PATIENT_S) -> Outcome:
    return asyncio.run(ReceiverChecks([Receiver("r", url, None, token)], timeout_s).round())["r"]


def found(url: str, token: str = "mst_secret", timeout_s: float = PATIENT_S) -> tuple[ReasonCode, Step]:
    reason = checked(url, token, timeout_s).reason
    assert reason is not None
    return reason.code, reason.step


def test_a_receiver_that_is_alive_ready_and_writes_is_well(server: TinyServer) -> None:
    outcome = checked(server.url)
    assert (outcome.reason, outcome.installation) == (None, "abc")
    assert [asked.path for asked in server.asked] == ["/healthz", "/readyz", "/api/v1/server/write-check"]
    assert server.asked[-1].headers["Authorization"] == "Bearer mst_secret"


def test_without_a_token_writing_is_not_checked(server: TinyServer) -> None:
    assert checked(server.url, token="").reason is None
    assert [asked.path for asked in server.asked] == ["/healthz", "/readyz"]


@pytest.mark.parametrize(
    ("path", "answer", "code", "step"),
    [
        ("/healthz", Answer(200, b"<html>nginx</html>"), ReasonCode.NOT_MUSTER, Step.ALIVE),
        ("/healthz", Answer(404, b"no"), ReasonCode.NOT_MUSTER, Step.ALIVE),
        ("/healthz", Answer(301, b"", headers={"Location": "/"}), ReasonCode.NOT_MUSTER, Step.ALIVE),
        ("/healthz", DROP, ReasonCode.BROKEN_OFF, Step.ALIVE),
        ("/readyz", Answer(503, {"ready": False, "readyNodes": {}}), ReasonCode.NOT_READY, Step.READY),
        ("/readyz", problem(503, "unavailable", "no database"), ReasonCode.UNAVAILABLE, Step.READY),
        ("/readyz", problem(507, "storage-full", "the disk is full"), ReasonCode.STORAGE_FULL, Step.READY),
        ("/server/write-check", problem(401, "not-authenticated", "log in"), ReasonCode.NOT_AUTHENTICATED, Step.WRITE),
        ("/server/write-check", problem(403, "forbidden", "no"), ReasonCode.FORBIDDEN, Step.WRITE),
        ("/server/write-check", problem(507, "storage-full", "full"), ReasonCode.STORAGE_FULL, Step.WRITE),
        ("/server/write-check", problem(500, "internal", "oops"), ReasonCode.ERROR, Step.WRITE),
        ("/server/write-check", Answer(502, b"Bad Gateway"), ReasonCode.NOT_MUSTER, Step.WRITE),
        ("/server/write-check", Answer(200, b"[1]"), ReasonCode.NOT_MUSTER, Step.WRITE),
    ],
)
def test_the_reason_names_what_failed(
    server: TinyServer, path: str, answer: Answer, code: ReasonCode, step: Step
) -> None:
    server.on("GET" if path.endswith("z") else "POST", path, answer)
    assert found(server.url) == (code, step)


def test_a_receiver_that_is_asked_too_often_is_well(server: TinyServer) -> None:
    server.on("POST", "/server/write-check", problem(429, "too-many-requests", "wait"))
    assert checked(server.url).reason is None


def test_the_words_of_the_server_are_kept_on_one_line(server: TinyServer) -> None:
    server.on("GET", "/readyz", problem(503, "unavailable", "the database\r\nBcc: eve\x1b[2J does not answer"))
    reason = checked(server.url).reason
    assert reason is not None
    assert reason.details["words"] == "the database Bcc: eve [2J does not answer"


def test_nobody_listens(server: TinyServer) -> None:
    server.stop()
    assert found(server.url) == (ReasonCode.REFUSED, Step.CONNECT)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 80])
def test_a_name_that_does_not_exist(host: str) -> None:
    assert found(f"http://{host}:7070") == (ReasonCode.UNKNOWN_HOST, Step.CONNECT)


def test_a_receiver_that_cannot_be_asked_at_all_keeps_no_other_from_being_checked(server: TinyServer) -> None:
    receivers = [Receiver("odd", server.url, None, "a token\nwith two lines"), Receiver("good", server.url)]
    outcomes = asyncio.run(ReceiverChecks(receivers, PATIENT_S).round())
    assert outcomes["good"].reason is None
    reason = outcomes["odd"].reason
    assert reason is not None
    assert (reason.code, reason.details["words"]) == (ReasonCode.ERROR, "ValueError")


def test_a_receiver_that_does_not_answer_is_given_up_in_time(server: TinyServer) -> None:
    release = threading.Event()

    def never(_: Asked) -> Answer:
        release.wait(60)
        return READY

    server.on("GET", "/readyz", never)
    assert found(server.url, timeout_s=3.0) == (ReasonCode.TIMED_OUT, Step.READY)
    release.set()


def test_a_receiver_that_accepts_nothing_more_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert found(f"http://127.0.0.1:{port}", timeout_s=3.0) == (ReasonCode.TIMED_OUT, Step.ALIVE)


def test_a_receiver_that_drips_is_given_up_in_time() -> None:
    with dripping() as port:
        assert found(f"http://127.0.0.1:{port}", timeout_s=0.5)[0] is ReasonCode.TIMED_OUT


def test_one_slow_receiver_delays_no_other(server: TinyServer) -> None:
    async def both() -> tuple[dict[str, Outcome], float]:
        receivers = [Receiver("slow", f"http://127.0.0.1:{port}"), Receiver("fast", server.url, None, "t")]
        began = time.monotonic()
        return await ReceiverChecks(receivers, 5.0).round(), time.monotonic() - began

    with dripping() as port:
        outcomes, took_s = asyncio.run(both())
    assert (outcomes["fast"].reason, outcomes["slow"].reason is None) == (None, False)
    assert outcomes["fast"].took_s < took_s


def test_https_that_is_addressed_as_http_is_told(tls_server: TinyServer) -> None:
    reason = checked(tls_server.url.replace("https:", "http:")).reason
    assert reason is not None
    assert (reason.code, reason.details) == (ReasonCode.NEEDS_HTTPS, {"url": tls_server.url})


def test_a_certificate_that_nobody_signed_is_told(tls_server: TinyServer) -> None:
    assert found(tls_server.url) == (ReasonCode.CERTIFICATE, Step.CONNECT)
