"""A TCP connection to a port of a task, over a WebSocket."""

import json
import select
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from muster.client.errors import UNREACHABLE, MusterError, from_answer
from muster.client.message_socket import MessageSocket
from muster.client.transport import Transport

_PIECE_BYTES = 256 << 10
_HELD_BYTES = 1 << 20
_LOOK_AGAIN_S = 20.0


class TaskConnection:
    """An open connection. `task` is the name of the task that listens, and `tasks` how many the job has."""

    def __init__(self, transport: Transport, path: str, port: int, task: str | None = None) -> None:
        self._server = transport.server
        self._socket = MessageSocket(transport, path, self._lost)
        self._has_ended = False
        self._early: list[bytes] = []
        self.task, self.tasks = "", 0
        try:
            self._socket.tell({"port": port, "task": task})
            while not self.task:
                self._early += self._taken(self._socket.wait())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def relay(self, local: socket.socket) -> None:
        """Passes bytes between the task and a connected socket until both sides have ended. Neither side is read faster
        than the other one takes. Raises MusterError if the connection to the server is lost, and OSError if the other
        one is."""
        local.setblocking(False)
        unsent, self._early = bytearray(b"".join(self._early)), []
        has_input, is_open = True, True
        while has_input or is_open:
            readers = [local] if has_input and self._socket.has_room else []
            writers = [local] if unsent else []
            if len(unsent) < _HELD_BYTES:
                unsent += b"".join(self._taken(self._socket.wait(readers, writable=writers)))
            else:
                select.select([], writers, [], _LOOK_AGAIN_S)
            _send(local, unsent)
            if self._has_ended and not unsent and is_open:
                is_open = False
                local.shutdown(socket.SHUT_WR)
            data = _received(local) if readers else None
            if data:
                self._socket.send(data)
            elif data is not None:
                has_input = False
                self._socket.tell({"type": "eof"})

    def ask(self, data: bytes) -> bytes:
        """Sends this, and returns what comes until the task ends the connection."""
        self._socket.send(data)
        came, self._early = b"".join(self._early), []
        while not self._has_ended:
            came += b"".join(self._taken(self._socket.wait()))
        return came

    def _taken(self, messages: Sequence[bytes | str]) -> list[bytes]:
        """The bytes among these messages. `started`, `eof` and `failed` are noted."""
        pieces: list[bytes] = []
        for message in messages:
            if isinstance(message, bytes):
                pieces.append(message)
                continue
            told = json.loads(message)
            if told["type"] == "started":
                self.task, self.tasks = str(told["task"]), int(told["tasks"])
            elif told["type"] == "eof":
                self._has_ended = True
            elif told["type"] == "failed":
                raise from_answer(int(told["status"]), message.encode())
        return pieces

    def _lost(self, why: str) -> MusterError:
        return MusterError(f"the connection to {self._server} was lost ({why})", code=UNREACHABLE)


def _send(local: socket.socket, unsent: bytearray) -> None:
    try:
        while unsent:
            del unsent[: local.send(unsent[:_PIECE_BYTES])]
    except BlockingIOError:
        return


def _received(local: socket.socket) -> bytes | None:
    """Returns None if nothing has come yet, and nothing at the end."""
    try:
        return local.recv(_PIECE_BYTES)
    except BlockingIOError:
        return None
