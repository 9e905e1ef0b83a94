"""A client with several servers: connections are cut before the answer, and servers killed and paused in the middle."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from muster.client.client import Client
from muster.client.errors import UNCONFIRMED, MusterError
from muster.client.transport import Timeouts
from tests.parts.answer_cutter import AnswerCutter
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated

SUBMISSION = b"POST /api/v1/jobs "
Start = Callable[..., MusterServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with a home of its own, on the store of this name."""
    with ExitStack() as stack:

        def started(home: str, store: str = "") -> MusterServer:
            url = f"sqlite:///{tmp_path / (store or home)}.db"
            server = stack.enter_context(unkindly_treated(tmp_path / home, url))
            server.start()
            return server

        yield started


@pytest.fixture
def cutter() -> Iterator[Callable[[MusterServer], AnswerCutter]]:
    with ExitStack() as stack:

        def before(server: MusterServer) -> AnswerCutter:
            made = AnswerCutter("127.0.0.1", server.port)
            stack.callback(made.close)
            return made

        yield before


def client_of(urls: list[str], tokens: list[str], answer_s: float = 30.0) -> Client:
    return Client(",".join(urls), ",".join(tokens), timeouts=Timeouts(5.0, answer_s))


def names(server: MusterServer) -> list[str]:
    return [job["name"] for job in server.call("GET", "/api/v1/jobs?limit=100")[1]["items"]]


def quiet(name: str) -> dict[str, object]:
    return {"name": name, "command": "true", "hold": True}


def test_an_answer_that_was_cut_off_is_asked_for_again(start: Start, cutter: Callable[..., AnswerCutter]) -> None:
    """Both for servers on one store and for separate ones: there is one job, and the client has it."""
    first, second = start("one"), start("two")
    link = cutter(first)
    client = client_of([link.url, second.url], [first.token, second.token])
    link.arm(SUBMISSION)
    job = client.submit(quiet("once"))
    assert link.cuts == 1
    assert names(first) == ["once"]
    assert names(second) == []
    assert first.call("GET", f"/api/v1/jobs/{job.id}")[1]["name"] == "once"


def test_a_server_that_died_with_the_answer_is_named_with_the_key(
    start: Start, cutter: Callable[..., AnswerCutter]
) -> None:
    first, second = start("one"), start("two")
    token, link = first.token, cutter(first)
    client = client_of([link.url, second.url], [token, second.token])
    link.arm(SUBMISSION, first.kill)
    with pytest.raises(MusterError) as told:
        client.submit(quiet("perhaps"))
    assert told.value.code == UNCONFIRMED
    assert link.url in told.value.message
    key = str(told.value.raw["requestKey"])
    assert names(second) == [], "a second run was risked"
    first.start()
    assert f"get request {key}" in told.value.hint
    assert first.run("get", "request", key, "-o", "name", check=True).stdout == "perhaps\n"
    assert first.run("get", "request", "nothing").returncode == 1


def test_on_one_store_another_server_answers_for_one_that_died(
    start: Start, cutter: Callable[..., AnswerCutter]
) -> None:
    first, second = start("one", "shared"), start("two", "shared")
    token, link = first.token, cutter(first)
    client = client_of([link.url, second.url], [token, token])
    link.arm(SUBMISSION, first.kill)
    job = client.submit(quiet("survives"))
    assert client.server == second.url
    assert names(second) == ["survives"]
    assert job.refresh().name == "survives"


def test_on_one_store_another_server_answers_for_one_that_is_paused(start: Start) -> None:
    """The one that is paused is the standby: the one that acts may be paused while it holds a lock of the database."""
    acting, paused = start("one", "shared"), start("two", "shared")
    token = acting.token
    told: list[str] = []
    client = client_of([paused.url, acting.url], [token, token], answer_s=10.0)
    client.transport.on_notice = told.append
    client.whoami()
    os.kill(paused.pid, signal.SIGSTOP)
    try:
        client.submit(quiet("meanwhile"))
        assert client.server == acting.url
        assert any(f"connected to {acting.url}; {paused.url} does not answer: " in text for text in told)
    finally:
        os.kill(paused.pid, signal.SIGCONT)
    for _ in polls(30):
        if paused.call("GET", "/readyz")[0] == 200:
            break
    assert names(paused) == ["meanwhile"], "the request that waited in the paused server made a second job"
    assert names(acting) == ["meanwhile"]


def test_logs_are_followed_further_when_their_server_dies(start: Start, tmp_path: Path) -> None:
    first, second = start("one", "shared"), start("two", "shared")
    token, gate = first.token, tmp_path / "gate"
    client = client_of([second.url, first.url], [token, token])
    command = f"echo before; until [ -e {gate} ]; do sleep 0.1; done; echo after"
    job = client.submit({"name": "followed", "command": command})
    lines: list[str] = []
    for chunk in job.logs(follow=True):
        lines += chunk.text.split()
        if "before" in lines and not gate.exists():
            second.kill()
            gate.touch()
    assert lines == ["before", "after"]
    assert client.server == first.url
