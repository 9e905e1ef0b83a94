"""Runs commands in tasks on the other server, as `muster exec` does."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import Find
from muster.backends.muster_server.task_sockets import TaskSocket, task_socket
from muster.ports.capabilities import CommandEnd, CommandOutput, CommandSession, TaskRef, Terminal

_INPUT = b"\0"
_STREAMS = {b"\1": "stdout", b"\2": "stderr"}
_PIECE_BYTES = 32 << 10


class OtherCommands:
    """Implements `ports.capabilities.TaskCommands`."""

    def __init__(self, server: OtherServer, find: Find) -> None:
        self._server, self._find = server, find

    @asynccontextmanager
    async def run(self, task: TaskRef, argv: Sequence[str], terminal: Terminal | None) -> AsyncIterator[CommandSession]:
        wanted = None
        if terminal is not None:
            wanted = {"rows": terminal.rows, "columns": terminal.columns, "kind": terminal.kind}
        order = {"command": list(argv), "terminal": wanted}
        async with task_socket(self._server, self._find, task, "exec", **order) as socket:
            yield _Session(socket)


class _Session:
    def __init__(self, socket: TaskSocket) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(_INPUT + data[start : start + _PIECE_BYTES])

    async def end_input(self) -> None:
        await self._socket.tell(type="eof")

    async def resize(self, rows: int, columns: int) -> None:
        await self._socket.tell(type="resize", rows=rows, columns=columns)

    async def output(self) -> AsyncGenerator[CommandOutput | CommandEnd]:
        while True:
            told = await self._socket.receive()
            if isinstance(told, bytes) and told[:1] in _STREAMS:
                yield CommandOutput(_STREAMS[told[:1]], told[1:])
            elif isinstance(told, dict) and told.get("type") == "end":
                code = told.get("exitCode")
                yield CommandEnd(code if isinstance(code, int) else 1, task_ended=bool(told.get("taskEnded")))
                return
