"""One open line to one agent: requests with their answers, and pushes, as length-prefixed JSON."""

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any, Protocol

from muster.domain.errors import BackendError
from muster.ports.backend import CONNECTION_LOST

MAX_FRAME = 16 << 20
ANSWER_WITHIN_S = 60.0
_LENGTH = struct.Struct(">I")

Message = dict[str, Any]


class ByteReader(Protocol):
    async def readexactly(self, n: int) -> bytes: ...


class ByteWriter(Protocol):
    def write(self, data: bytes) -> None: ...


class AgentLink:
    """`run` reads until the line breaks; then every waiting request fails with CONNECTION_LOST."""

    def __init__(self, name: str, reader: ByteReader, writer: ByteWriter, on_push: Callable[[Message], None]) -> None:
        self._name = name
        self._reader = reader
        self._writer = writer
        self._on_push = on_push
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._last_id = 0
        self._broken = False

    async def run(self) -> None:
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                if length > MAX_FRAME:
                    raise BackendError(f"agent on {self._name} sent a frame of {length} bytes")
                self._take(json.loads(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self._break()

    async def ask(self, op: str, **arguments: Any) -> Message:
        if self._broken:
            raise self._lost()
        self._last_id += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = answer
        request_id = self._last_id
        payload = json.dumps({"id": request_id, "op": op, **arguments}).encode()
        try:
            self._writer.write(_LENGTH.pack(len(payload)) + payload)
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await answer
        except TimeoutError:
            raise BackendError(f"agent on {self._name} did not answer {op}", reason=CONNECTION_LOST) from None
        except (ConnectionError, RuntimeError):
            raise self._lost() from None
        finally:
            self._waiting.pop(request_id, None)

    def _take(self, message: Message) -> None:
        request_id = message.pop("id", None)
        if request_id is None:
            self._on_push(message)
            return
        answer = self._waiting.get(request_id)
        if answer is None or answer.done():
            return
        if message.get("ok"):
            answer.set_result(message)
        else:
            code = str(message.get("error", ""))
            answer.set_exception(BackendError(str(message.get("message", code)), reason=code))

    def _break(self) -> None:
        self._broken = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._lost())

    def _lost(self) -> BackendError:
        return BackendError(f"the connection to the agent on {self._name} is gone", reason=CONNECTION_LOST)
