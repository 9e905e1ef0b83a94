"""Whoever connects to the relay or to a coordinator without a valid token costs little, and keeps nobody from work."""

import json
import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch import strangers
from muster.agent.batch.coordinator import Coordinator
from muster.agent.batch.link import RUNNER, Link, connected_to, is_token
from muster.agent.batch.relay import Relay
from muster.agent.batch.relayed import RelayLink
from muster.agent.batch.spool import Spool
from muster.agent.system.frames import FrameDecoder, FrameError, encode, first_object

pytestmark = pytest.mark.timeout(60)
KEY, TASK, TOKEN = "job.1", "job.1.worker.0", "a token"
NO_ORDERS: dict[str, Any] = {"orders": {}}


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


NONSENSE = {
    "deep nesting": framed(b"[" * 100_000),
    "deep nesting in an object": framed(b'{"key":' + b"[" * 100_000),
    "no JSON": framed(b"\xff\xfe"),
    "no object": framed(b"[]"),
    "no token": framed(b"{}"),
    "wrong token": encode({"what": "orders", "key": KEY, "token": "other"}),
    "token that is no text": encode({"what": "orders", "key": KEY, "token": [1]}),
    "half a character as token": framed(json.dumps({"key": KEY, "token": "\ud800"}).encode()),
    "key that is a path": encode({"what": "orders", "key": "../x", "token": TOKEN}),
    "nonce that is none": encode({"what": "seal", "key": KEY, "nonce": "short"}),
    "no nonce": encode({"what": "seal", "key": KEY}),
    "too long": struct.pack(">I", strangers.FIRST_BYTES + 1),
    "too long before data": struct.pack(">II", 1 << 31 | 1 << 20, strangers.FIRST_BYTES + 1),
    "another protocol": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "login"))
    spool.make()
    spool.gang(KEY).write_facts({"tasks": [TASK], "token": TOKEN})
    spool.gang(KEY).write_job("17")
    return spool


@pytest.fixture
def relay(spool: Spool) -> Relay:
    return Relay(spool)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connect(port: int, opened: ExitStack) -> socket.socket:
    return opened.enter_context(socket.create_connection(("127.0.0.1", port), 30))


def is_closed(connection: socket.socket) -> bool:
    """Waits for it. Some of what was sent may not have been read."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("said", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_ends_the_connection(relay: Relay, opened: ExitStack, said: bytes) -> None:
    connection = connect(relay.port, opened)
    connection.sendall(said)
    assert is_closed(connection)
    assert RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY).ask({"what": "orders"}) == NO_ORDERS


@pytest.mark.parametrize("said", [b"", b"\0", framed(b"{}" * 500)[:-1]], ids=["nothing", "one byte", "not all"])
def test_who_does_not_finish_a_message_is_dropped(
    relay: Relay, opened: ExitStack, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strangers, "SPEAK_WITHIN_S", 0.0)
    connection = connect(relay.port, opened)
    connection.sendall(said)
    assert is_closed(connection)


def test_gangs_are_served_during_a_flood_which_costs_no_threads(relay: Relay, opened: ExitStack) -> None:
    link = RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY)
    assert link.ask({"what": "orders"}) == NO_ORDERS
    before = threading.active_count()

    flood = [connect(relay.port, opened) for _ in range(2 * strangers.MOST_OF_ADDRESS)]

    assert all(is_closed(one) for one in flood[: strangers.MOST_OF_ADDRESS])
    assert threading.active_count() == before
    assert link.ask({"what": "orders"}) == NO_ORDERS
    assert RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY).ask({"what": "orders"}) == NO_ORDERS


def test_other_addresses_keep_their_connections_in_a_flood(relay: Relay, opened: ExitStack) -> None:
    quiet = opened.enter_context(socket.create_connection(("127.0.0.1", relay.port), 30, ("127.0.0.2", 0)))
    flood = [connect(relay.port, opened) for _ in range(2 * strangers.MOST_OF_ADDRESS)]
    assert all(is_closed(one) for one in flood[: strangers.MOST_OF_ADDRESS])

    quiet.sendall(encode({"what": "orders", "key": KEY, "token": TOKEN}))

    assert Link(quiet).receive_one() == NO_ORDERS


def test_connections_of_one_gang_are_few(relay: Relay, opened: ExitStack) -> None:
    links = [Link(connect(relay.port, opened)) for _ in range(20)]
    for link in links:
        link.send({"what": "orders", "key": KEY, "token": TOKEN})
        assert link.receive_one() == NO_ORDERS
    assert links[0].receive_one() is None
    links[-1].send({"what": "orders", "key": KEY, "token": TOKEN})
    assert links[-1].receive_one() == NO_ORDERS


def test_a_large_piece_may_be_the_first_message(relay: Relay, spool: Spool, opened: ExitStack) -> None:
    """The coordinator of a gang says again what was not answered when the connection broke."""
    data = b"line\n" * 200_000
    link = Link(connect(relay.port, opened))
    link.send({"what": "log", "key": KEY, "token": TOKEN, "task": TASK, "offset": 0, "data": data})
    assert link.receive_one() == {}
    assert Path(spool.gang(KEY).task_folder(TASK), "log").read_bytes() == data


def test_a_long_message_is_said_again_after_a_connection_broke(relay: Relay) -> None:
    link = RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY)
    assert link.ask({"what": "orders"}) == NO_ORDERS
    assert link._link is not None
    link._link.close()
    told = {"left_out": ["n" * 1000] * 1000, "skipped": 0, "too_deep": 0, "problem": ""}
    assert link.ask({"what": "outputs", "task": TASK, **told}) == {}


def test_deep_nesting_is_an_error_of_the_frame() -> None:
    with pytest.raises(FrameError):
        FrameDecoder().feed(NONSENSE["deep nesting"])


def test_the_first_object_is_known_before_its_data() -> None:
    whole = encode({"key": KEY, "data": b"x" * 1000})
    found = [first_object(whole[:count], 100) for count in range(len(whole))]
    assert [one for one in found if one is not None] == [{"key": KEY}] * 1000


def test_a_token_may_be_any_text() -> None:
    assert not is_token("\ud800", TOKEN)
    assert is_token(TOKEN, TOKEN)


def test_a_coordinator_keeps_few_strangers_and_hears_its_runners(tmp_path: Path, opened: ExitStack) -> None:
    task = {"id": TASK, "rank": 0, "ports": 0}
    order = {"key": KEY, "root": str(tmp_path), "is_shared": True, "groups": [{"srun": [], "tasks": [task]}]}
    spool = Spool(str(tmp_path))
    coordinator = Coordinator(order, spool, spool.gang(KEY))
    coordinator._selector.register(coordinator._server, selectors.EVENT_READ, None)
    port = coordinator._server.getsockname()[1]
    flood = [connect(port, opened) for _ in range(2 * strangers.MOST_OF_ADDRESS)]
    nonsense = [connect(port, opened) for _ in NONSENSE]
    for connection, said in zip(nonsense, NONSENSE.values(), strict=True):
        connection.sendall(said)
    hello = {"what": "hello", "group": 0, "place": 0, "node": "n1", "host": "n1"}
    told: list[Any] = []

    def run() -> None:
        runner = connected_to(f"127.0.0.1,{port}", coordinator._token, RUNNER)
        runner.send(hello)
        told.append(runner.receive_one())

    running = threading.Thread(target=run)
    running.start()

    while TASK not in coordinator._links:
        coordinator._serve()

    running.join(30)
    assert told == [{"what": "task", "id": TASK, "ports": 0}]
    assert all(is_closed(one) for one in flood[: strangers.MOST_OF_ADDRESS])
    assert coordinator._strangers.count <= strangers.MOST_OF_ADDRESS
