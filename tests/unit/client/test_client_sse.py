"""Event streams: taken apart correctly however they are cut, and read once and in order however they break."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster import Client
from muster.client import contexts
from muster.client.contexts import Context, Contexts
from muster.client.errors import MusterError
from muster.client.sse import EventParser, ServerEvent, read_events
from muster.client.transport import API, Request, Transport
from tests.unit.client.tiny_server import DROP, Answer, TinyServer, problem, sse

pytestmark = pytest.mark.fast


def parsed(text: bytes) -> list[ServerEvent]:
    return list(EventParser().feed(text))


def test_fields_of_an_event_are_read() -> None:
    assert parsed(b"id: 7\nevent: log\ndata: a\n\n") == [ServerEvent("log", "a", "7")]


def test_several_data_lines_are_joined_by_newlines() -> None:
    assert parsed(b"data: a\ndata:b\ndata:  c\n\n") == [ServerEvent("message", "a\nb\n c")]


def test_comments_and_unknown_fields_are_passed_over() -> None:
    assert parsed(b": keep alive\n\nretry: 5\ndata: x\n\n") == [ServerEvent("message", "x")]


def test_carriage_returns_end_lines_too() -> None:
    assert parsed(b"id: 1\r\nevent: e\r\ndata: x\r\n\r\n") == [ServerEvent("e", "x", "1")]


def test_last_id_holds_for_events_that_have_none() -> None:
    assert [event.id for event in parsed(b"id: 1\ndata: x\n\ndata: y\n\n")] == ["1", "1"]


def test_unfinished_event_is_not_given() -> None:
    assert parsed(b"data: x\n") == []


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1)), st.data())
def test_any_cut_of_the_bytes_gives_the_same_events(texts: list[str], data: st.DataObject) -> None:
    whole = b"".join(f"id: {n}\ndata: {text}\n\n".encode() for n, text in enumerate(texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parser = EventParser()
    found = [e for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) for e in parser.feed(whole[a:b])]
    assert [event.data for event in found] == texts


def stream(server: TinyServer, *, follow: bool, pauses: list[float] | None = None) -> list[str]:
    """All data until `end`."""
    found = []
    slept = pauses if pauses is not None else []
    transport = Transport(server.url, None)
    for event in read_events(transport, Request("GET", f"{API}/s"), follow=follow, sleep=slept.append):
        if event.kind == "end":
            break
        found.append(json.loads(event.data))
    return found


def test_broken_stream_is_resumed_from_the_last_event(server: TinyServer) -> None:
    server.on(
        "GET",
        "/s",
        Answer(pieces=[sse("log", "a", "1"), sse("log", "b", "2"), b"id: 3\ndata: half"], cut=True),
        DROP,
        Answer(pieces=[sse("log", "c", "3"), sse("end", {}, "3")]),
    )
    pauses: list[float] = []
    assert stream(server, follow=True, pauses=pauses) == ["a", "b", "c"]
    assert [asked.headers.get("Last-Event-ID") for asked in server.requests("GET", "/s")] == [None, "2", "2"]
    assert pauses == sorted(pauses)
    assert len(pauses) == 2


def test_followed_stream_that_ends_cleanly_without_its_last_event_is_resumed(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")]), Answer(pieces=[sse("end", {}, "1")]))
    assert stream(server, follow=True) == ["a"]
    assert len(server.requests("GET", "/s")) == 2


def test_stream_that_is_not_followed_ends_with_its_answer(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")]))
    assert stream(server, follow=False) == ["a"]


def test_cut_stream_is_resumed_even_when_not_followed(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")], cut=True), Answer(pieces=[sse("log", "b", "2")]))
    assert stream(server, follow=False) == ["a", "b"]


def test_refusal_is_raised_at_once(server: TinyServer) -> None:
    server.on("GET", "/s", problem(403, "forbidden", "not yours"))
    with pytest.raises(MusterError, match="not yours"):
        stream(server, follow=True)
    assert len(server.requests("GET", "/s")) == 1


def test_refusal_after_a_break_is_raised(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")], cut=True), problem(404, "not-found", "it was deleted"))
    with pytest.raises(MusterError, match="deleted"):
        stream(server, follow=True)


def test_server_that_stays_away_ends_the_reading(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")], cut=True))
    transport = Transport(server.url, None)
    events = read_events(transport, Request("GET", f"{API}/s"), follow=True, patience_s=0.0, sleep=lambda _: None)
    assert next(events).id == "1"
    server.stop()
    with pytest.raises(MusterError) as caught:
        for _ in events:
            pass
    assert caught.value.code == "unreachable"


def test_a_lost_connection_is_announced_and_the_new_address_is_taken(server: TinyServer, home: Path) -> None:
    elsewhere = TinyServer()
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")]))
    elsewhere.on("GET", "/s", Answer(pieces=[sse("log", "b", "2"), sse("end", {}, "2")]))
    contexts.save(Contexts("local", {"local": Context(server.url, "first")}))
    client = Client()
    notices: list[str] = []
    client.transport.on_notice = notices.append

    def move_after_two_pauses(_: float, pauses: list[None] = []) -> None:  # noqa: B006 - it counts its own calls
        pauses.append(None)
        if len(pauses) == 1:
            server.stop()
        if len(pauses) == 2:
            contexts.save(Contexts("local", {"local": Context(elsewhere.url, "second")}))

    events = read_events(client.transport, Request("GET", f"{API}/s"), follow=True, sleep=move_after_two_pauses)
    assert [next(events).data, next(events).data] == ['"a"', '"b"']
    elsewhere.stop()
    assert notices == [
        f"the connection to {server.url} is lost; retrying for up to 2 minutes",
        f"connected again, to {elsewhere.url}",
    ]
    [asked] = elsewhere.asked
    assert asked.headers["Last-Event-ID"] == "1"
    assert asked.headers["Authorization"] == "Bearer second"


def test_a_stream_that_is_resumed_at_once_is_not_announced(server: TinyServer) -> None:
    server.on("GET", "/s", Answer(pieces=[sse("log", "a", "1")], cut=True), Answer(pieces=[sse("end", {}, "1")]))
    transport = Transport(server.url, None)
    notices: list[str] = []
    transport.on_notice = notices.append
    events = read_events(transport, Request("GET", f"{API}/s"), follow=True, sleep=lambda _: None)
    assert [event.kind for _, event in zip(range(2), events, strict=False)] == ["log", "end"]
    assert notices == []


def test_an_address_that_was_given_is_kept(server: TinyServer, home: Path) -> None:
    contexts.save(Contexts("other", {"other": Context("http://127.0.0.1:1", "secret")}))
    client = Client(server.url)
    client.transport.relocate()
    assert (client.server, client.transport.token) == (server.url, None)
