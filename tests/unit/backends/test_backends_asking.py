"""Asking a node whose line is gone: waited for while it may be back in a moment, not when it is known to be away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from muster.agent.system.frames import FrameDecoder, encode
from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.flow_control import patiently
from muster.domain.errors import CONNECTION_LOST, BackendError

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Away:
    """A machine that cannot be reached; counts the tries."""

    def __init__(self) -> None:
        self.tries = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[ByteReader, ByteWriter]]:
        self.tries += 1
        if self.tries:
            raise BackendError("no route to host")
        yield cast("Any", None)

    def node(self, **timing: Any) -> AgentNode:
        return AgentNode(
            "gpu2",
            "lab",
            self.connect,
            on_push=lambda *_: None,
            on_change=lambda _: None,
            on_ready=lambda _: None,
            **timing,
        )


async def test_a_node_that_has_just_gone_is_waited_for() -> None:
    node = Away().node()
    await node.start()
    try:
        waiting = asyncio.create_task(node.ask("ping"))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
    finally:
        await node.close()


async def test_a_node_that_has_been_away_for_long_is_not_waited_for() -> None:
    node = Away().node(connect_within_s=0.0)
    await node.start()
    try:
        with pytest.raises(BackendError, match="node gpu2 does not answer") as caught:
            await node.ask("ping")
        assert caught.value.reason == CONNECTION_LOST
    finally:
        await node.close()


async def test_reconnecting_tries_at_once() -> None:
    away = Away()
    node = away.node(retry_pause_s=lambda _failures: 600.0)
    await node.start()
    try:
        assert away.tries == 1
        node.reconnect()
        async with asyncio.timeout(20):
            while away.tries < 2:
                await asyncio.sleep(0.002)
    finally:
        await node.close()


_HELLO = {"cpus": 1, "memory_bytes": 1, "gpus": [], "limits": {"memory": True}, "address": "10.0.0.1", "now": 0.0}


class HangingUp:
    """A machine whose line breaks at a `ping`, so many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.lines = self.pings = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[ByteReader, ByteWriter]]:
        self.lines += 1
        reader, decoder = asyncio.StreamReader(), FrameDecoder()

        class Writer:
            def write(_, data: bytes) -> None:
                for message in decoder.feed(data):
                    self._answer(message, reader)

        yield reader, Writer()

    def _answer(self, message: dict[str, Any], reader: asyncio.StreamReader) -> None:
        if message["op"] == "ping":
            self.pings += 1
            if self.left:
                self.left -= 1
                reader.feed_eof()
                return
        reader.feed_data(encode({"id": message["id"], "ok": True, **(_HELLO if message["op"] == "hello" else {})}))


async def test_what_is_asked_again_when_the_line_broke_waits_for_the_next_line() -> None:
    machine = HangingUp(1)
    node = AgentNode(
        "gpu2", "lab", machine.connect, on_push=lambda *_: None, on_change=lambda _: None, on_ready=lambda _: None
    )
    await node.start()
    try:
        await patiently(lambda: node.ask("ping"))
        assert (machine.lines, machine.pings) == (2, 2)
    finally:
        await node.close()
