"""Connections to ports of tasks on nodes with agents. They are closed when they are left."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from muster.agent.errors import BAD_REQUEST, NOT_LISTENING, NOT_RUNNING, UNKNOWN_TASK
from muster.backends.agents.command_stops import Answering, CommandStops
from muster.domain.errors import BackendError, Conflict, Unreachable
from muster.ports.capabilities import TaskConnection, TaskRef

_PIECE_BYTES = 256 << 10
_HINTS = {
    NOT_LISTENING: "it must listen on 127.0.0.1 or on all addresses; `muster logs JOB` may say on which port",
    NOT_RUNNING: "`muster get workers JOB` shows which tasks run",
    UNKNOWN_TASK: "`muster get workers JOB` shows which tasks run",
}


class AgentConnections:
    """Implements `TaskConnections`."""

    def __init__(self, agent_of: Callable[[TaskRef], Answering]) -> None:
        self._agent_of = agent_of
        self._closing = CommandStops()

    @asynccontextmanager
    async def connect(self, task: TaskRef, port: int) -> AsyncIterator[TaskConnection]:
        agent = self._agent_of(task)
        try:
            answer = await agent.ask("connect", task=task.task_id, port=port)
        except BackendError as error:
            if error.reason in _HINTS:
                raise Conflict(error.message, hint=_HINTS[error.reason]) from None
            raise
        name = str(answer["connection"])
        try:
            yield _Connection(agent, name)
        finally:
            self._closing.ask(agent, "connection_close", connection=name)

    async def close(self) -> None:
        await self._closing.close()


class _Connection:
    def __init__(self, agent: Answering, name: str) -> None:
        self._agent = agent
        self._name = name

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            await self._write(data[start : start + _PIECE_BYTES], is_last=False)

    async def end_input(self) -> None:
        await self._write(b"", is_last=True)

    async def received(self) -> AsyncGenerator[bytes]:
        while True:
            answer = await self._ask("connection_read")
            if answer["data"]:
                yield answer["data"]
            if answer["ended"]:
                return

    async def _write(self, data: bytes, *, is_last: bool) -> None:
        answer = await self._ask("connection_write", data=data, last=is_last)
        while not answer["taken"]:
            answer = await self._ask("connection_write", data=b"", last=is_last)

    async def _ask(self, op: str, **arguments: Any) -> Any:
        try:
            return await self._agent.ask(op, connection=self._name, **arguments)
        except BackendError as error:
            if error.reason != BAD_REQUEST:
                raise
            # The link broke, and the agent that answers now does not know the connection.
            raise Unreachable("the link to the node was lost, and with it the connection") from None
