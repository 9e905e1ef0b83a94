"""Reads a multipart/form-data body part by part while it arrives, so that an upload of any size takes little memory."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from muster.domain.errors import Invalid

_BOUNDARY = re.compile(r'multipart/form-data\s*;.*?boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_PARAMETER = re.compile(r'[;\s](name|filename)="((?:\\.|[^"\\])*)"')
_MOST_HEADER = 16 << 10


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    filename: str
    content: AsyncIterator[bytes]
    """Must be read to its end before the next part is asked for."""


def boundary_of(content_type: str) -> bytes:
    match = _BOUNDARY.match(content_type)
    if match is None:
        raise Invalid("the body must be multipart/form-data with a boundary")
    return (match[1] or match[2]).encode("latin-1", "replace")


async def parts_of(boundary: bytes, body: AsyncIterator[bytes]) -> AsyncIterator[Part]:
    """Raises Invalid if the body ends before its last part does."""
    reader = _Reader(body)
    line = b"--" + boundary
    await reader.skip(line)
    while await reader.is_followed():
        header = await reader.through(b"\r\n\r\n", _MOST_HEADER)
        name, filename = _disposition(header)
        yield Part(name, filename, reader.until(b"\r\n" + line))


class _Reader:
    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self._held = b""

    async def skip(self, line: bytes) -> None:
        """Go behind the first boundary. Nothing but an empty line may be before it."""
        await self._fill(len(line) + 2)
        held = self._held.removeprefix(b"\r\n")
        if not held.startswith(line):
            raise Invalid("the body does not begin with its boundary")
        self._held = held[len(line) :]

    async def is_followed(self) -> bool:
        """Whether another part follows this boundary."""
        await self._fill(2)
        end, self._held = self._held[:2], self._held[2:]
        if end not in (b"\r\n", b"--"):
            raise _cut_off()
        return end == b"\r\n"

    async def through(self, end: bytes, most: int) -> bytes:
        while end not in self._held:
            if len(self._held) > most:
                raise Invalid("the header of a part is too long")
            await self._fill(len(self._held) + 1)
        found, _, self._held = self._held.partition(end)
        return found

    async def until(self, end: bytes) -> AsyncIterator[bytes]:
        """The bytes up to the end, without it. What may be its beginning is held back until more is known."""
        while (at := self._held.find(end)) < 0:
            sure = len(self._held) - len(end) + 1
            if sure > 0:
                found, self._held = self._held[:sure], self._held[sure:]
                yield found
            await self._fill(len(self._held) + 1)
        found, self._held = self._held[:at], self._held[at + len(end) :]
        if found:
            yield found

    async def _fill(self, size: int) -> None:
        while len(self._held) < size:
            try:
                self._held += await anext(self._body)
            except StopAsyncIteration:
                raise _cut_off() from None


def _disposition(header: bytes) -> tuple[str, str]:
    for line in header.decode("utf-8", "replace").split("\r\n"):
        if line.lower().startswith("content-disposition:"):
            found = {name: _unescaped(value) for name, value in _PARAMETER.findall(line)}
            return found.get("name", ""), found.get("filename", "")
    return "", ""


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


def _cut_off() -> Invalid:
    return Invalid("the body ends before its last part does")
