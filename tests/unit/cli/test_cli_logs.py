"""Logs: interleaved, alone, raw; and what an interrupt does to them."""

from typing import Any

import pytest
from click.testing import CliRunner

from muster.cli.logs.printing import LogPrinter
from muster.cli.main import cli
from tests.unit.cli.calling import ID, muster, with_job
from tests.unit.client.tiny_server import DROP, Answer, TinyServer, sse

pytestmark = pytest.mark.fast


def log(task: int, text: str, cursor: str, offset: int = 0) -> bytes:
    return sse("log", {"task": f"mnist-worker-{task}", "offset": offset, "text": text}, cursor)


def test_logs_of_several_workers_are_interleaved_line_by_line(server: TinyServer) -> None:
    with_job(server)
    pieces = [log(0, "a\nb", "1"), log(1, "x\n", "2"), log(0, "c\n", "3", 3), log(1, "unfinished", "4", 2)]
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=pieces))
    assert muster(server, "logs", "mnist").out == ("worker-0 | a\nworker-1 | x\nworker-0 | bc\nworker-1 | unfinished\n")


def test_log_of_one_worker_is_printed_as_it_is(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=[log(0, "a\nb", "1"), log(0, "c", "2", 3)]))
    outcome = muster(server, "logs", "mnist", "-w", "worker-0", "-n", "10")
    assert outcome.out == "a\nbc"
    assert server.asked[-1].query == {"task": ["mnist-worker-0"], "tail": ["10"]}


def test_unknown_worker_is_told_with_the_known_ones(server: TinyServer) -> None:
    with_job(server)
    outcome = muster(server, "logs", "mnist", "-w", "worker-9")
    assert outcome.code == 1
    assert "its workers are worker-0, worker-1" in outcome.err


def test_raw_log_is_given_byte_for_byte(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/logs/raw", Answer(pieces=[b"\xff\x00a", b"b"]))
    words = ["--server", server.url, "logs", "mnist", "--raw", "-w", "worker-1"]
    assert CliRunner().invoke(cli, words).stdout_bytes == b"\xff\x00ab"


def test_raw_log_of_several_workers_is_refused(server: TinyServer) -> None:
    with_job(server)
    assert "select it with -w" in muster(server, "logs", "mnist", "--raw").err


def test_interrupted_following_says_that_the_job_goes_on(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with_job(server)
    monkeypatch.setattr(LogPrinter, "print", interrupted)
    outcome = muster(server, "logs", "-f", "mnist")
    assert outcome.code == 130
    assert "job mnist continues" in outcome.err


@pytest.mark.parametrize("words", [["logs"], ["logs", "-f"], ["logs", "--raw", "-w", "worker-0"], ["get", "workers"]])
@pytest.mark.parametrize(
    ("attempt", "hint"),
    [(0, "it has not been started yet"), (1, "it has one attempt: 1"), (3, "its attempts are 1 to 3")],
)
def test_an_attempt_that_does_not_exist_is_an_error(
    server: TinyServer, words: list[str], attempt: int, hint: str
) -> None:
    with_job(server, attempt=attempt)
    server.on("GET", f"/jobs/{ID}/tasks", Answer(200, {"items": []}))
    outcome = muster(server, *words, "mnist", "--attempt", "9")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"error: job mnist has no attempt 9\nhint: {hint}\n"


def test_a_followed_log_says_that_the_connection_is_lost(server: TinyServer) -> None:
    with_job(server, tasks=1)
    end = Answer(pieces=[sse("end", {}, "1")])
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=[log(0, "a\n", "1")], cut=True), DROP, end)
    outcome = muster(server, "logs", "-f", "mnist", "-w", "worker-0")
    assert (outcome.code, outcome.out) == (0, "a\n")
    assert outcome.err == (
        f"the connection to {server.url} is lost; retrying for up to 2 minutes\nconnected again, to {server.url}\n"
    )


def test_a_run_from_outside_says_that_it_has_no_log(server: TinyServer) -> None:
    job = with_job(server, cluster="elsewhere", state="Succeeded")
    server.on("GET", f"/jobs/{job['id']}/tasks", Answer(200, {"items": []}))
    outcome = muster(server, "logs", job["name"])
    assert (outcome.code, "reported from outside of Muster" in outcome.err) == (0, True)
