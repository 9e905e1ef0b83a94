"""Runs commands of admins on nodes with agents. They are not jobs, and are stopped when the request ends."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Sequence

from muster.backends.agents.connection import AgentNode, quietly
from muster.domain.errors import BackendError, Unreachable
from muster.ports.capabilities import CommandEnd, CommandOutput


class NodeExec:
    def __init__(self) -> None:
        self._stopping: set[asyncio.Task[None]] = set()

    async def run(
        self, agent: AgentNode, argv: Sequence[str], timeout_s: float
    ) -> AsyncGenerator[CommandOutput | CommandEnd]:
        name = await _started(agent, argv, timeout_s)
        try:
            while True:
                answer = await agent.ask("exec_read", exec=name)
                for piece in answer["output"] or [{"stream": "stdout", "data": ""}]:
                    yield CommandOutput(str(piece["stream"]), base64.b64decode(piece["data"]))
                if answer["ended"]:
                    yield CommandEnd(int(answer["exit_code"]), bool(answer["timed_out"]))
                    return
        finally:
            # This runs in the background, because a request that is being cancelled must not wait for an answer.
            stopping = asyncio.create_task(quietly(agent.ask("exec_stop", exec=name)))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    async def close(self) -> None:
        for task in self._stopping:
            task.cancel()
        await asyncio.gather(*self._stopping, return_exceptions=True)


async def _started(agent: AgentNode, argv: Sequence[str], timeout_s: float) -> str:
    try:
        return str((await agent.ask("exec_start", argv=list(argv), timeout_s=timeout_s))["exec"])
    except BackendError as error:
        if agent.node.is_reachable or not isinstance(error, Unreachable):
            raise
        # Only admins run commands, and they may see how the server logs in: other users do not get the note.
        raise Unreachable(f"{error.message}: {agent.node.note}") from None
