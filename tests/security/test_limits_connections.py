"""Connections, streams and uploads are bounded for each caller and in all; half-sent requests are closed."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest
import uvicorn

from muster.bootstrap.listening import listen, within_descriptors
from muster.domain.errors import TooMany, Unavailable
from muster.domain.limits import Limits
from muster.server.bounds import Bound
from muster.server.connections import ConnectionLimits, bounded_protocol
from muster.server.metrics import Metrics
from muster.server.middleware import Guard

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[int]:
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(hello, http=bounded_protocol(limits), log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running
        listener.close()


async def connected(port: int, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def status(reader: asyncio.StreamReader) -> int:
    return int((await asyncio.wait_for(reader.readline(), 60)).split()[1])


async def headers(reader: asyncio.StreamReader) -> dict[str, str]:
    found = {}
    while line := (await asyncio.wait_for(reader.readline(), 60)).strip():
        name, _, value = line.decode().partition(": ")
        found[name.lower()] = value
    return found


async def test_a_connection_over_the_bound_of_its_address_is_refused_with_the_time_to_try_again() -> None:
    limits = ConnectionLimits(Bound("connections", each=2, in_all=100))
    async with serving(limits) as port:
        kept = [await connected(port, REQUEST) for _ in range(2)]
        assert [await status(reader) for reader, _ in kept] == [200, 200]
        reader, writer = await connected(port, REQUEST)
        assert await status(reader) == 429
        assert (await headers(reader))["retry-after"] == "2"
        for _, open_one in [*kept, (reader, writer)]:
            open_one.close()
            await open_one.wait_closed()
        while limits.bound.count:
            await asyncio.sleep(0.01)
        reader, writer = await connected(port, REQUEST)
        assert await status(reader) == 200
        writer.close()


async def test_connections_over_the_bound_of_all_are_refused() -> None:
    async with serving(ConnectionLimits(Bound("connections", each=100, in_all=1))) as port:
        first, first_writer = await connected(port, REQUEST)
        assert await status(first) == 200
        second, second_writer = await connected(port, REQUEST)
        assert await status(second) == 503
        assert (await headers(second))["retry-after"] == "2"
        first_writer.close()
        second_writer.close()


async def test_connections_of_a_trusted_proxy_count_only_for_all() -> None:
    limits = ConnectionLimits(Bound("connections", each=1, in_all=100), [ip_network("127.0.0.0/8")])
    async with serving(limits) as port:
        made = [await connected(port, REQUEST) for _ in range(3)]
        assert [await status(reader) for reader, _ in made] == [200, 200, 200]
        for _, writer in made:
            writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_request_that_is_not_sent_to_its_end_is_closed(sent: bytes) -> None:
    limits = ConnectionLimits(Bound("connections", each=100, in_all=100), deadline_s=0.1)
    async with serving(limits) as port:
        reader, writer = await connected(port, sent)
        answer = await asyncio.wait_for(reader.read(), 60)
        assert answer.startswith(b"HTTP/1.1 408 ")
        writer.close()
        while limits.bound.count:
            await asyncio.sleep(0.01)


async def test_what_cannot_be_parsed_is_answered_as_a_problem() -> None:
    async with serving(ConnectionLimits(Bound("connections", each=100, in_all=100))) as port:
        reader, writer = await connected(port, b"GET /" + 70_000 * b"a" + b" HTTP/1.1\r\nHost: a\r\n\r\n")
        head, body = (await asyncio.wait_for(reader.read(), 60)).split(b"\r\n\r\n", 1)
        writer.close()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert b"retry-after" not in head
    assert json.loads(body)["code"] == "bad-request"


async def test_a_keep_alive_connection_is_not_a_half_sent_request() -> None:
    limits = ConnectionLimits(Bound("connections", each=100, in_all=100), deadline_s=0.1)
    async with serving(limits) as port:
        reader, writer = await connected(port, REQUEST)
        assert await status(reader) == 200
        await headers(reader)
        await reader.readexactly(2)
        await asyncio.sleep(0.5)
        writer.write(REQUEST)
        assert await status(reader) == 200
        writer.close()


async def test_very_many_refused_connections_keep_no_descriptors() -> None:
    limits = ConnectionLimits(Bound("connections", each=1, in_all=1))
    async with serving(limits) as port:
        reader, writer = await connected(port, REQUEST)
        assert await status(reader) == 200
        held = []
        for _ in range(200):
            one = socket.create_connection(("127.0.0.1", port))
            held.append(one)
            await asyncio.sleep(0)
        while True:
            await asyncio.sleep(0.01)
            assert limits.refused <= 65
            if limits.refused == 64:
                break
        for one in held:
            one.close()
        writer.close()


def test_a_bound_names_who_is_over_it_and_forgets_who_holds_nothing() -> None:
    bound = Bound("streams", each=2, in_all=3)
    bound.take("amy")
    bound.take("amy")
    with pytest.raises(TooMany, match="amy may have at most 2 streams"):
        bound.take("amy")
    with bound.held("bob"), pytest.raises(Unavailable, match="the server has 3 streams"):
        bound.take("eve")
    bound.give_back("amy", 2)
    assert (bound.count, bound.holders) == (0, 0)


async def test_bodies_that_are_read_at_once_take_bounded_memory() -> None:
    bytes_held = Bound("bytes of requests", each=1_000, in_all=2_000)
    guard = Guard(hello, Metrics(), bytes_held)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 400, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    await guard({"type": "http", "path": "/x", "method": "POST", "client": ("10.0.0.1", 1)}, receive, send)
    assert sent[0]["status"] == 429
    assert dict(sent[0]["headers"])[b"retry-after"] == b"1"
    assert (bytes_held.count, bytes_held.holders) == (0, 0)


@pytest.mark.parametrize(("allowed", "connections"), [(65_536, 4096), (1024, 768), (300, 44), (100, 16)])
def test_descriptors_are_kept_in_reserve(allowed: int, connections: int) -> None:
    assert within_descriptors(Limits(connections=4096), allowed).connections == connections
