"""A command that runs in a task: its input and output over a WebSocket.

Nothing here waits unless asked to, because whoever sits at a terminal has input and output at the same time. It never
retries, because an interrupted command may have run.
"""

import base64
import json
import os
import select
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import ProtocolError

from muster.client.errors import BAD_ANSWER, UNREACHABLE, MusterError, from_answer
from muster.client.node_exec import CommandPiece
from muster.client.transport import Request, Transport

_INPUT = b"\0"
_STREAMS = {1: "stdout", 2: "stderr"}
_READ_BYTES = 256 << 10
_PIECE_BYTES = 64 << 10
_UNSENT_BYTES = 512 << 10
_SILENCE_S = 75.0  # the server pings more often than that, so longer silence means a dead connection


@dataclass(frozen=True, slots=True)
class TaskCommandResult:
    """For a signal, `exit_code` is 128 plus its number."""

    exit_code: int
    task_ended: bool = False


Told = CommandPiece | TaskCommandResult


class TaskCommand:
    """A running command. Iterate over it to read what it prints and how it ends:

        with Client().job("mnist").command(["nvidia-smi"]) as command:
            command.end_input()
            for piece in command:
                ...

    `task` is the name of the task in which it runs, and `tasks` how many the job has. The command is killed when this
    is closed.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        command: Sequence[str],
        task: str | None = None,
        terminal: Mapping[str, Any] | None = None,
    ) -> None:
        self._server = transport.server
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        try:
            self._http = transport.upgraded(Request("GET", path, repeatable=False), key)
        except OSError as error:
            raise transport.lost(error) from error
        self._socket = self._http.sock
        self._socket.setblocking(False)
        self._protocol = Connection(ConnectionType.CLIENT)
        self._unsent = bytearray()
        self._part: dict[type, list[Any]] = {BytesMessage: [], TextMessage: []}
        self._has_ended = False
        self._heard_at = time.monotonic()
        self._early: list[Told] = []
        self.task, self.tasks = "", 0
        try:
            self._tell({"command": list(command), "task": task, "terminal": terminal})
            while not self.task:
                self._early = self.wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Told]:
        while not self._has_ended or self._early:
            yield from self.wait()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def has_room(self) -> bool:
        """Whether more input may be sent. What is sent beyond that is kept in memory."""
        return len(self._unsent) < _UNSENT_BYTES

    def send(self, data: bytes) -> None:
        """Passes input to the command, now or with a later `flush`."""
        for start in range(0, len(data), _PIECE_BYTES):
            self._put(BytesMessage(data=_INPUT + data[start : start + _PIECE_BYTES]))
        self.flush()

    def end_input(self) -> None:
        self._tell({"type": "eof"})

    def resize(self, rows: int, columns: int) -> None:
        self._tell({"type": "resize", "rows": rows, "columns": columns})

    def wait(self, others: Sequence[int] = (), timeout_s: float | None = None) -> list[Told]:
        """Waits until there is something, or until one of the other descriptors can be read, and returns what there
        is."""
        until = self._heard_at + _SILENCE_S
        left = max(0.0, until - time.monotonic())
        if not self._is_pending() and not self._early:
            wait_s = left if timeout_s is None else min(left, timeout_s)
            writers = [self._socket] if self._unsent else []
            select.select([self._socket, *others], writers, [], wait_s)
        self.flush()
        told = self.receive()
        if not told and time.monotonic() >= until:
            raise self._lost("it has been silent for too long")
        return told

    def receive(self) -> list[Told]:
        """Returns what has come, without waiting."""
        told, self._early = self._early, []
        while not self._has_ended:
            try:
                data = self._socket.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                raise self._lost(error.strerror or str(error)) from error
            if not data:
                raise self._lost("the connection was closed")
            self._heard_at = time.monotonic()
            told += self._read(data)
        return told

    def flush(self) -> None:
        """Sends what is unsent, as far as the connection takes it."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent[:_READ_BYTES])]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            return  # whatever the server said before it closed the connection is still to be read

    def close(self) -> None:
        self._http.close()
        self._socket.close()

    def _is_pending(self) -> bool:
        """Whether decrypted bytes are waiting, which a descriptor does not show."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _tell(self, message: Mapping[str, Any]) -> None:
        self._put(TextMessage(data=json.dumps(message)))
        self.flush()

    def _put(self, event: Any) -> None:
        self._unsent += self._protocol.send(event)

    def _read(self, data: bytes) -> Iterator[Told]:
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                if isinstance(event, Ping):
                    self._put(event.response())
                    self.flush()
                elif isinstance(event, CloseConnection):
                    raise self._lost(event.reason or "the server closed the connection")
                elif isinstance(event, BytesMessage | TextMessage) and (whole := self._whole(event)) is not None:
                    yield from self._message(whole)
                    if self._has_ended:
                        return
        except ProtocolError as error:
            raise MusterError(f"the answer of {self._server} is not a WebSocket: {error}", code=BAD_ANSWER) from error

    def _whole(self, event: BytesMessage | TextMessage) -> bytes | str | None:
        parts = self._part[type(event)]
        parts.append(event.data)
        if not event.message_finished:
            return None
        whole: bytes | str = b"".join(parts) if isinstance(event, BytesMessage) else "".join(parts)
        parts.clear()
        return whole

    def _message(self, message: bytes | str) -> Iterator[Told]:
        if isinstance(message, bytes):
            if message and message[0] in _STREAMS:
                yield CommandPiece(_STREAMS[message[0]], message[1:])
            return
        told = json.loads(message)
        if told["type"] == "started":
            self.task, self.tasks = str(told["task"]), int(told["tasks"])
        elif told["type"] == "end":
            self._has_ended = True
            yield TaskCommandResult(int(told["exitCode"]), bool(told["taskEnded"]))
        elif told["type"] == "failed":
            raise from_answer(int(told["status"]), message.encode())

    def _lost(self, why: str) -> MusterError:
        return MusterError(
            f"the connection to {self._server} was lost, and the command was killed ({why})", code=UNREACHABLE
        )
