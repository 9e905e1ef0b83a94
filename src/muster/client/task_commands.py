"""A session in a task: the input and output of a command that runs there, or of the task itself, over a WebSocket.

Nothing here waits unless asked to, because whoever sits at a terminal has input and output at the same time. It never
retries, because an interrupted command may have run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from muster.client.errors import UNREACHABLE, MusterError, from_answer
from muster.client.message_socket import MessageSocket
from muster.client.node_exec import CommandPiece
from muster.client.transport import Transport

_INPUT = b"\0"
_STREAMS = {1: "stdout", 2: "stderr"}
_PIECE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class TaskCommandResult:
    """The end of a command. If a signal ended it, `exit_code` is 128 plus its number."""

    exit_code: int
    task_ended: bool = False


Told = CommandPiece | TaskCommandResult


class TaskCommand:
    """A running command. Iterate over it to read what it prints and how it ends:

        with Client().job("mnist").command(["nvidia-smi"]) as command:
            command.end_input()
            for piece in command:
                ...

    `task` is the name of the task in which it runs, `tasks` how many the job has, and `has_terminal` whether it runs at
    a terminal. The command is killed when this is closed. A session that is attached to the task itself is the same,
    but the task goes on when it is closed.
    """

    def __init__(self, transport: Transport, path: str, wanted: Mapping[str, Any], at_loss: str) -> None:
        """`wanted` is the first message. `at_loss` says what becomes of it when the connection is lost."""
        self._server = transport.server
        self._at_loss = at_loss
        self._socket = MessageSocket(transport, path, self._lost)
        self._has_ended = False
        self._early: list[Told] = []
        self.task, self.tasks, self.has_terminal = "", 0, False
        try:
            self._socket.tell(wanted)
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
        return self._socket.has_unsent

    @property
    def has_room(self) -> bool:
        """Whether more input may be sent. What is sent beyond that is kept in memory."""
        return self._socket.has_room

    def send(self, data: bytes) -> None:
        """Passes input to the command, now or with a later `flush`."""
        for start in range(0, len(data), _PIECE_BYTES):
            self._socket.send(_INPUT + data[start : start + _PIECE_BYTES])

    def end_input(self) -> None:
        self._socket.tell({"type": "eof"})

    def resize(self, rows: int, columns: int) -> None:
        self._socket.tell({"type": "resize", "rows": rows, "columns": columns})

    def wait(self, others: Sequence[int] = (), timeout_s: float | None = None) -> list[Told]:
        """Waits until there is something, or until one of the other descriptors can be read, and returns what there
        is."""
        if self._early:
            return self.receive()
        return self._told(self._socket.wait(others, timeout_s))

    def receive(self) -> list[Told]:
        """Returns what has come, without waiting."""
        told, self._early = self._early, []
        return told if told or self._has_ended else self._told(self._socket.receive())

    def flush(self) -> None:
        """Sends what is unsent, as far as the connection takes it."""
        self._socket.flush()

    def close(self) -> None:
        self._socket.close()

    def _told(self, messages: Sequence[bytes | str]) -> list[Told]:
        told: list[Told] = []
        for message in messages:
            if not self._has_ended:
                told += self._message(message)
        return told

    def _message(self, message: bytes | str) -> Iterator[Told]:
        if isinstance(message, bytes):
            if message and message[0] in _STREAMS:
                yield CommandPiece(_STREAMS[message[0]], message[1:])
            return
        told = json.loads(message)
        if told["type"] == "started":
            self.task, self.tasks = str(told["task"]), int(told["tasks"])
            self.has_terminal = bool(told.get("terminal"))
        elif told["type"] == "end":
            self._has_ended = True
            yield TaskCommandResult(int(told["exitCode"]), bool(told["taskEnded"]))
        elif told["type"] == "failed":
            raise from_answer(int(told["status"]), message.encode())

    def _lost(self, why: str) -> MusterError:
        return MusterError(f"the connection to {self._server} was lost, and {self._at_loss} ({why})", code=UNREACHABLE)
