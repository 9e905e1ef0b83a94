"""Runs commands in tasks on nodes with agents, which are killed when their session is left, and attaches to tasks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from muster.agent.errors import BAD_REQUEST, NOT_RUNNING, UNKNOWN_TASK
from muster.backends.agents.command_stops import Answering, CommandStops, output_of
from muster.domain.errors import BackendError, Conflict, Unreachable
from muster.ports.capabilities import CommandEnd, CommandOutput, CommandSession, TaskRef, Terminal

_PIECE_BYTES = 64 << 10


class AgentCommands:
    """Implements `TaskCommands` and `TaskAttachments`."""

    def __init__(self, agent_of: Callable[[TaskRef], Answering]) -> None:
        self._agent_of = agent_of
        self._stops = CommandStops()

    @asynccontextmanager
    async def run(self, task: TaskRef, argv: Sequence[str], terminal: Terminal | None) -> AsyncIterator[CommandSession]:
        agent = self._agent_of(task)
        name = await _started(agent, "exec_in_task", task, argv=list(argv), terminal=_shown(terminal))
        try:
            yield _Session(agent, name)
        finally:
            self._stops.stop(agent, name)

    @asynccontextmanager
    async def attach(self, task: TaskRef, terminal: Terminal | None, tail: int | None) -> AsyncIterator[CommandSession]:
        agent = self._agent_of(task)
        name = await _started(agent, "attach", task, terminal=_shown(terminal), tail=tail)
        try:
            yield _Session(agent, name)
        finally:
            self._stops.stop(agent, name)

    async def close(self) -> None:
        await self._stops.close()


class _Session:
    def __init__(self, agent: Answering, name: str) -> None:
        self._agent = agent
        self._name = name

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            await self._write(data[start : start + _PIECE_BYTES], is_last=False)

    async def end_input(self) -> None:
        await self._write(b"", is_last=True)

    async def resize(self, rows: int, columns: int) -> None:
        await self._ask("exec_resize", rows=rows, columns=columns)

    async def output(self) -> AsyncGenerator[CommandOutput | CommandEnd]:
        while True:
            answer = await self._ask("exec_read")
            for piece in output_of(answer):
                yield piece
            if answer["ended"]:
                yield CommandEnd(int(answer["exit_code"]), task_ended=bool(answer["task_ended"]))
                return

    async def _write(self, data: bytes, *, is_last: bool) -> None:
        answer = await self._ask("exec_write", data=data, last=is_last)
        while not answer["taken"]:
            answer = await self._ask("exec_write", data=b"", last=is_last)

    async def _ask(self, op: str, **arguments: Any) -> Any:
        try:
            return await self._agent.ask(op, exec=self._name, **arguments)
        except BackendError as error:
            if error.reason != BAD_REQUEST:
                raise
            # The connection broke, and the agent that answers now does not know the command.
            raise Unreachable("the connection to the node was lost, and with it the session") from None


def _shown(terminal: Terminal | None) -> dict[str, Any] | None:
    return None if terminal is None else {"rows": terminal.rows, "columns": terminal.columns, "kind": terminal.kind}


async def _started(agent: Answering, op: str, task: TaskRef, **arguments: Any) -> str:
    try:
        answer = await agent.ask(op, task=task.task_id, **arguments)
    except BackendError as error:
        if error.reason in (NOT_RUNNING, UNKNOWN_TASK):
            raise Conflict(error.message, hint="`muster get workers JOB` shows which tasks run") from None
        raise
    return str(answer["exec"])
