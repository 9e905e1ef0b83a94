"""A client with several servers: which one it uses, what it repeats where, and what it says when it cannot know."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.client import contexts
from muster.client.client import Client
from muster.client.contexts import Context, Contexts
from muster.client.errors import TIMED_OUT, UNCONFIRMED, UNREACHABLE, MusterError
from muster.client.receivers import Look, Receivers, Target, parsed_address
from muster.client.submitting import Changes, prepare
from muster.client.transport import API, Request, Timeouts
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer, a_job, problem

pytestmark = pytest.mark.fast
SPEC = {"name": "mnist", "command": "true"}


@pytest.fixture(autouse=True)
def no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MUSTER_SERVER", "MUSTER_TOKEN", "MUSTER_FINGERPRINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path))


@pytest.fixture
def first() -> Iterator[TinyServer]:
    yield from serving()


@pytest.fixture
def second() -> Iterator[TinyServer]:
    yield from serving()


def serving() -> Iterator[TinyServer]:
    tiny = TinyServer()
    tiny.on("POST", "/jobs", Answer(201, a_job()))
    yield tiny
    tiny.stop()


def on_stores(*served: tuple[TinyServer, str]) -> None:
    for server, store in served:
        me = {"user": "li", "role": "user", "server": {"version": "1", "store": store}}
        server.on("GET", "/whoami", Answer(200, me))


def client_of(*servers: TinyServer, told: list[str] | None = None, answer_s: float = 20.0) -> Client:
    made = Client(",".join(server.url for server in servers), timeouts=Timeouts(2.0, answer_s))
    made.transport.on_notice = (told if told is not None else []).append
    made.transport._sleep = lambda _: None
    return made


def gone(server: TinyServer, client: Client) -> None:
    """The server takes no more connections, and the one that it had with the client is over."""
    server.stop()
    client.transport.close()


def keys(server: TinyServer) -> list[str]:
    return [asked.headers["Idempotency-Key"] for asked in server.requests("POST", "/jobs")]


def test_the_first_server_is_used_without_a_word(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    told: list[str] = []
    client_of(first, second, told=told).whoami()
    assert not told
    assert not second.asked


def test_another_one_is_used_if_the_first_is_dead_and_that_is_said(first: TinyServer, second: TinyServer) -> None:
    on_stores((second, "s"))
    first.stop()
    told: list[str] = []
    client = client_of(first, second, told=told)
    client.whoami()
    client.whoami()
    assert told == [f"connected to {second.url}; {first.url} does not answer: connection refused"]
    assert client.server == second.url


def test_a_server_that_cannot_work_is_passed_over(first: TinyServer, second: TinyServer) -> None:
    first.on("GET", "/whoami", problem(503, "unavailable", "the database is away"))
    on_stores((second, "s"))
    told: list[str] = []
    client_of(first, second, told=told).whoami()
    assert told == [f"connected to {second.url}; {first.url} does not answer: the database is away"]


def test_without_any_server_each_is_named_with_its_reason(first: TinyServer, second: TinyServer) -> None:
    first.stop()
    second.on("GET", "/whoami", problem(503, "unavailable", "it starts"))
    with pytest.raises(MusterError, match="no active receiver found") as refused:
        client_of(first, second).whoami()
    assert refused.value.code == UNREACHABLE
    assert [str(one) for one in refused.value.problems] == [
        f"{first.url}: connection refused",
        f"{second.url}: it starts",
    ]


def test_a_token_goes_to_its_own_server_only(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    both = Context(first.url, "of-first", "li", more=(Context(second.url, "of-second", "li"),))
    contexts.save(Contexts().with_context("lab", both))
    made = Client(timeouts=Timeouts(2.0, 5.0))
    made.whoami()
    gone(first, made)
    made.whoami()
    assert {asked.headers["Authorization"] for asked in first.asked} == {"Bearer of-first"}
    assert {asked.headers["Authorization"] for asked in second.asked} == {"Bearer of-second"}
    stranger = TinyServer()
    on_stores((stranger, "s"))
    Client(f"{stranger.url},{second.url}").whoami()
    assert "Authorization" not in stranger.asked[-1].headers
    stranger.stop()


def test_reads_go_on_at_another_server_on_the_same_store(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    told: list[str] = []
    client = client_of(first, second, told=told)
    client.whoami()
    gone(first, client)
    second.on("GET", "/jobs/mnist", Answer(200, a_job()))
    assert client.job("mnist").name == "mnist"
    assert told == [f"connected to {second.url}; {first.url} does not answer: connection refused"]


def test_reads_do_not_go_on_at_a_server_with_another_store(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "other"))
    client = client_of(first, second)
    client.whoami()
    gone(first, client)
    with pytest.raises(MusterError):
        client.job("mnist")
    assert not second.requests("GET", "/jobs/mnist")


def test_a_stream_goes_on_at_another_server_where_it_broke_off(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))

    def log(text: str, number: int) -> bytes:
        told = json.dumps({"task": "worker-0", "offset": 0, "text": text})
        return f"id: {number}\nevent: log\ndata: {told}\n\n".encode()

    def dying(_: Asked) -> Answer:
        first.on("GET", "/whoami", DROP)
        first.on("GET", f"/jobs/{job.id}/logs", DROP)
        return Answer(200, pieces=[log("one", 1)], cut=True, headers={"Content-Type": "text/event-stream"})

    first.on("GET", "/jobs/mnist", Answer(200, a_job()))
    job = client_of(first, second).job("mnist")
    first.on("GET", f"/jobs/{job.id}/logs", dying)
    rest = [log("two", 2), b"event: end\ndata: {}\n\n"]
    second.on("GET", f"/jobs/{job.id}/logs", Answer(200, pieces=rest, headers={"Content-Type": "text/event-stream"}))
    assert [chunk.text for chunk in job.logs(follow=True)] == ["one", "two"]
    assert second.requests("GET", f"/jobs/{job.id}/logs")[0].headers["Last-Event-ID"] == "1"


def test_a_lost_answer_is_asked_for_again_under_the_same_key(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "other"))
    first.on("POST", "/jobs", DROP, Answer(200, a_job()))
    assert client_of(first, second).submit(SPEC).id == a_job()["id"]
    assert len(keys(first)) == 2
    assert len(set(keys(first))) == 1
    assert not keys(second)


@pytest.mark.parametrize(
    "lost", [DROP, problem(503, "unavailable", "another server takes over", mayHaveHappened=True)], ids=["drop", "503"]
)
def test_on_one_store_the_key_goes_along_to_the_next_server(
    first: TinyServer, second: TinyServer, lost: Answer
) -> None:
    on_stores((first, "s"), (second, "s"))
    first.on("POST", "/jobs", lost)
    assert client_of(first, second).submit(SPEC).id == a_job()["id"]
    assert keys(second)
    assert len({*keys(first), *keys(second)}) == 1


def test_a_server_that_never_answers_is_left_for_another_on_its_store(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    client = client_of(first, second, answer_s=0.3)
    client.whoami()

    second_answered = threading.Event()

    def silent(_: Asked) -> Answer:
        second_answered.wait(10)
        return DROP

    first.on("POST", "/jobs", silent)
    try:
        assert client.submit(SPEC).id == a_job()["id"]
    finally:
        second_answered.set()
    assert len({*keys(first), *keys(second)}) == 1


@pytest.mark.parametrize("count", [1, 2])
def test_if_nobody_can_say_whether_a_job_was_taken_that_is_said(
    first: TinyServer, second: TinyServer, count: int
) -> None:
    on_stores((first, "s"), (second, "other"))

    def taking_and_dying(_: Asked) -> Answer:
        first._server.socket.close()
        return DROP

    first.on("POST", "/jobs", taking_and_dying)
    with pytest.raises(MusterError) as told:
        client_of(*(first, second)[:count]).submit(SPEC)
    [key] = set(keys(first))
    assert told.value.code == UNCONFIRMED
    assert first.url in told.value.message
    assert f"muster --server {first.url} get request {key}" in told.value.hint
    assert not keys(second), "a second run is not risked"


def test_a_server_that_is_back_soon_is_asked_for_the_job_that_it_may_have_taken(
    first: TinyServer, second: TinyServer
) -> None:
    on_stores((first, "s"), (second, "other"))
    told: list[str] = []
    client = client_of(first, second, told=told)
    client.whoami()
    first.on("POST", "/jobs", DROP)
    pauses: list[float] = []

    def back_after_a_while(seconds: float) -> None:
        pauses.append(seconds)
        if seconds > 1.5:
            first.on("POST", "/jobs", Answer(200, a_job()))

    client.transport._sleep = back_after_a_while
    assert client.submit(SPEC).id == a_job()["id"]
    assert len(set(keys(first))) == 1
    assert not keys(second), "a second run is not risked"
    assert [text for text in told if "asked again whether it has taken the job" in text]


def test_a_submission_that_cannot_have_arrived_goes_to_the_next_server(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "other"))
    told: list[str] = []
    client = client_of(first, second, told=told)
    client.whoami()
    gone(first, client)
    assert client.submit(SPEC).id == a_job()["id"]
    assert client.server == second.url
    assert len(keys(second)) == 1


def test_a_refusal_is_an_answer_and_nobody_else_is_asked(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    first.on("POST", "/jobs", problem(409, "conflict", "the name is taken"))
    with pytest.raises(MusterError, match="taken"):
        client_of(first, second).submit(SPEC)
    assert not keys(second)


@pytest.mark.parametrize("code", ["backend-error", "history-away"])
def test_a_failure_behind_a_server_is_not_taken_for_one_of_the_server(
    first: TinyServer, second: TinyServer, code: str
) -> None:
    on_stores((first, "s"), (second, "s"))
    told: list[str] = []
    first.on("GET", "/nodes", problem(503, code, "what is behind it does not answer"))
    with pytest.raises(MusterError, match="what is behind it"):
        client_of(first, second, told=told).nodes()
    assert not told
    assert not second.asked


def test_what_must_not_be_repeated_is_not_sent_to_another_server(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    first.on("POST", "/users", DROP)
    with pytest.raises(MusterError) as lost:
        client_of(first, second).add_user("bo")
    assert lost.value.is_unsure
    assert not second.requests("POST", "/users")


def test_an_error_without_a_connection_is_sure(first: TinyServer) -> None:
    first.stop()
    with pytest.raises(MusterError) as refused:
        Client(first.url).submit(SPEC)
    assert (refused.value.code, refused.value.is_unsure) == (UNREACHABLE, False)


def test_all_servers_of_a_store_that_go_away_are_named(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "s"))
    client = client_of(first, second)
    client.whoami()
    gone(first, client)
    second.stop()
    with pytest.raises(MusterError, match="no active receiver found") as refused:
        client.transport.json(Request("GET", API + "/jobs"))
    assert [str(one) for one in refused.value.problems] == [
        f"{first.url}: connection refused",
        f"{second.url}: connection refused",
    ]


def test_the_jobs_of_a_request_are_found_by_its_key(first: TinyServer) -> None:
    first.on("GET", "/requests/abc", Answer(200, {"items": [a_job()], "nextCursor": None}))
    assert [job.id for job in Client(first.url).made_by("abc")] == [a_job()["id"]]


@pytest.mark.parametrize(
    ("servers", "tokens", "expected"),
    [
        ("http://a:1,http://b:2", "t", [("http://a:1", "t"), ("http://b:2", "t")]),
        ("http://a:1/, http://b:2 ,", "t,u", [("http://a:1", "t"), ("http://b:2", "u")]),
        ("http://a:1,http://a:1", "t", [("http://a:1", "t")]),
        ("http://a:1,http://b:2", ",u", [("http://a:1", None), ("http://b:2", "u")]),
    ],
)
def test_the_environment_names_several_servers(
    servers: str, tokens: str, expected: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_SERVER", servers)
    monkeypatch.setenv("MUSTER_TOKEN", tokens)
    assert [(one.server, one.token) for one in contexts.resolve().receivers] == expected


def test_tokens_that_do_not_match_the_servers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_SERVER", "http://a:1,http://b:2")
    monkeypatch.setenv("MUSTER_TOKEN", "t,u,v")
    with pytest.raises(MusterError, match="3 tokens for 2 servers"):
        contexts.resolve()


def test_another_thread_that_has_moved_on_is_followed() -> None:
    one, two, three = (Target(parsed_address(f"http://h:{port}")) for port in (1, 2, 3))
    looked: list[Target] = []

    def look(target: Target) -> Look:
        looked.append(target)
        return Look("s")

    receivers = Receivers((one, two, three), lambda _: None, lambda _: None, look)
    assert receivers.chosen() == one
    assert receivers.move_from(one, "gone")
    assert receivers.move_from(one, "gone")
    assert (receivers.chosen(), looked) == (two, [one, two])


def test_a_thread_that_comes_later_stays_where_another_one_has_gone(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "other"))
    told: list[str] = []
    client = client_of(first, second, told=told)
    client.whoami()
    gone(first, client)
    other = threading.Thread(target=lambda: client.submit(SPEC))
    other.start()
    other.join()
    assert client.transport.move_on(MusterError("gone", code=UNREACHABLE))
    assert client.server == second.url
    assert len(told) == 1, told


def test_a_timeout_of_a_single_server_may_have_arrived(first: TinyServer) -> None:
    first.on("POST", "/users", DROP)
    with pytest.raises(MusterError) as lost:
        Client(first.url).add_user("bo")
    assert lost.value.is_unsure
    assert lost.value.code in (UNREACHABLE, TIMED_OUT)


def test_a_request_that_may_have_arrived_does_not_follow_another_thread_to_another_store(
    first: TinyServer, second: TinyServer
) -> None:
    on_stores((first, "s"), (second, "other"))
    client = client_of(first, second)

    def moved_meanwhile(_: Asked) -> Answer:
        first._server.socket.close()
        assert client.transport.move_on(MusterError("gone", code=UNREACHABLE))
        return DROP

    first.on("POST", "/jobs", moved_meanwhile)
    with pytest.raises(MusterError) as told:
        client.submit(SPEC)
    assert told.value.code == UNCONFIRMED
    assert first.url in told.value.message
    assert not keys(second)


def test_a_change_of_a_job_does_not_go_to_another_store(first: TinyServer, second: TinyServer) -> None:
    on_stores((first, "s"), (second, "other"))
    first.on("GET", "/jobs/mnist", Answer(200, a_job()))
    client = client_of(first, second)
    job = client.job("mnist")
    gone(first, client)
    with pytest.raises(MusterError):
        client.retry_as(job, prepare(SPEC, Changes()))
    assert not [asked for asked in second.asked if asked.method == "POST"]
