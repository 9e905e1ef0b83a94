"""Plain asyncio HTTP/1.1 for load: many requests over few connections, and server-sent events as they come."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from bench.muster.client import Refused, headers
from bench.muster.server import Address

READ_BYTES = 1 << 18


class Connection:
    """One keep-alive connection, one request at a time."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers(address).items())
        self._host = f"{address.host}:{address.port}"
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: Address) -> "Connection":
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=1 << 22)
        return cls(address, reader, writer)

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        await self._send(method, path, body)
        status, fields = await self._answer()
        text = await self._reader.readexactly(int(fields.get("content-length", "0")))
        if status >= 400:
            raise Refused(f"{method} {path}: {status} {text[:200]!r}")
        return text

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """The events of a stream as (name, data) until the server ends it."""
        await self._send("GET", path, b"")
        status, fields = await self._answer()
        if status != 200:
            raise Refused(f"GET {path}: {status}")
        pending = b""
        async for piece in self._pieces(chunked=fields.get("transfer-encoding") == "chunked"):
            *whole, pending = (pending + piece).split(b"\n\n")
            for block in whole:
                name, data = _parse(block)
                if data:
                    yield name, json.loads(data)

    def close(self) -> None:
        self._writer.close()

    async def _send(self, method: str, path: str, body: bytes) -> None:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        await self._writer.drain()

    async def _answer(self) -> tuple[int, dict[str, str]]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in head[1:] if line)
        return int(head[0].split()[1]), {name.lower(): value.strip() for name, value in pairs}

    async def _pieces(self, *, chunked: bool) -> AsyncIterator[bytes]:
        while not chunked and (piece := await self._reader.read(READ_BYTES)):
            yield piece
        while chunked and (size := int(await self._reader.readline() or b"0", 16)):
            yield (await self._reader.readexactly(size + 2))[:-2]


def _parse(block: bytes) -> tuple[str, bytes]:
    name, data = "message", b""
    for line in block.split(b"\n"):
        if line.startswith(b"event:"):
            name = line[6:].strip().decode()
        elif line.startswith(b"data:"):
            data += line[5:].strip()
    return name, data
