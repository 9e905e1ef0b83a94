"""One open connection to one agent. It carries requests with their answers, and pushes, as length-prefixed JSON."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from muster.agent.errors import TOO_LARGE
from muster.agent.system.frames import FrameDecoder, FrameError, FrameTooLarge, Message, encode
from muster.domain.errors import BackendError, Rejected, Unreachable

ANSWER_WITHIN_S = 60.0
_READ_BYTES = 1 << 18


class ByteReader(Protocol):
    async def read(self, n: int) -> bytes: ...


class ByteWriter(Protocol):
    def write(self, data: bytes) -> None: ...


class AgentLink:
    """`run` reads until the connection breaks. Then every waiting request fails as Unreachable."""

    def __init__(self, name: str, reader: ByteReader, writer: ByteWriter, on_push: Callable[[Message], None]) -> None:
        self._name = name
        self._reader = reader
        self._writer = writer
        self._on_push = on_push
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._last_id = 0
        self._held: list[bytes] | None = None
        """Frames that wait for the end of this iteration of the event loop, or None if none was sent in it."""
        self._broken = False
        self._dropped = asyncio.Event()
        self.received = 0
        """How many times data was received."""
        self.drop_reason = ""
        """Why the connection was dropped, if no heartbeat came."""

    async def run(self) -> None:
        dropped = asyncio.create_task(self._dropped.wait())
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait((dropped, reading), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        except FrameError as error:
            raise BackendError(f"the agent on {self._name} sent something that is not valid: {error}") from None
        finally:
            dropped.cancel()
            reading.cancel()
            self._break()

    def drop(self, why: str = "") -> None:
        """Drop the connection: `run` ends."""
        self.drop_reason = why
        self._dropped.set()

    def poke(self) -> None:
        """Make the agent send something, without waiting for it."""
        self._last_id += 1
        self._send(encode({"id": self._last_id, "op": "ping"}))

    async def _read(self) -> None:
        decoder = FrameDecoder()
        try:
            while data := await self._reader.read(_READ_BYTES):
                self.received += 1
                for message in decoder.feed(data):
                    self._take(message)
        except ConnectionError:
            return

    async def ask(self, op: str, **arguments: Any) -> Message:
        if self._broken:
            raise self._lost()
        self._last_id += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = answer
        request_id = self._last_id
        try:
            self._send(encode({"id": request_id, "op": op, **arguments}))
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await answer
        except FrameTooLarge as error:
            raise Rejected(f"{op} is too large for the agent: {error}", reason=TOO_LARGE) from None
        except TimeoutError:
            raise Unreachable(f"agent on {self._name} did not answer {op}") from None
        except (ConnectionError, RuntimeError):
            raise self._lost() from None
        finally:
            self._waiting.pop(request_id, None)

    def _send(self, frame: bytes) -> None:
        """Send the first frame of an iteration of the event loop at once, and those after it together, so that a gang
        costs a node one more packet."""
        if self._held is not None:
            self._held.append(frame)
            return
        self._writer.write(frame)
        self._held = []
        asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        held, self._held = self._held, None
        if held:
            try:
                self._writer.write(b"".join(held))
            except (ConnectionError, RuntimeError):
                self.drop()

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

    def _lost(self) -> Unreachable:
        return Unreachable(f"the connection to the agent on {self._name} is gone")
