"""Runs commands of admins on nodes with agents. They are not jobs, and are stopped when the request ends."""

from collections.abc import AsyncGenerator, Sequence

from muster.backends.agents.command_stops import CommandStops, output_of
from muster.backends.agents.connection import AgentNode
from muster.domain.errors import BackendError, Unreachable
from muster.ports.capabilities import CommandEnd, CommandOutput


class NodeExec:
    def __init__(self) -> None:
        self._stops = CommandStops()

    async def run(
        self, agent: AgentNode, argv: Sequence[str], timeout_s: float
    ) -> AsyncGenerator[CommandOutput | CommandEnd]:
        name = await _started(agent, argv, timeout_s)
        try:
            while True:
                answer = await agent.ask("exec_read", exec=name)
                for piece in output_of(answer):
                    yield piece
                if answer["ended"]:
                    yield CommandEnd(int(answer["exit_code"]), bool(answer["timed_out"]))
                    return
        finally:
            self._stops.stop(agent, name)

    async def close(self) -> None:
        await self._stops.close()


async def _started(agent: AgentNode, argv: Sequence[str], timeout_s: float) -> str:
    try:
        return str((await agent.ask("exec_start", argv=list(argv), timeout_s=timeout_s))["exec"])
    except BackendError as error:
        if agent.node.is_reachable or not isinstance(error, Unreachable):
            raise
        # Only admins run commands, and they may see how the server logs in: other users do not get the note.
        raise Unreachable(f"{error.message}: {agent.node.note}") from None
