"""What all commands on nodes with agents have in common, whoever runs them: reading their output, and stopping them."""

import asyncio
import base64
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from muster.agent.system.frames import Message
from muster.backends.agents.connection import quietly
from muster.ports.capabilities import CommandOutput


class Answering(Protocol):
    """Answers requests about commands and connections: the agent of a node, or a relay on the way to it."""

    async def ask(self, op: str, **arguments: Any) -> Message: ...


def output_of(answer: Mapping[str, Any]) -> Iterator[CommandOutput]:
    """The output in an answer to `exec_read`; an empty piece, as a heartbeat, if there is none."""
    for piece in answer["output"] or [{"stream": "stdout", "data": ""}]:
        yield CommandOutput(str(piece["stream"]), base64.b64decode(piece["data"]))


class CommandStops:
    """Stops commands, and closes connections, in the background, because a request that is being cancelled must not
    wait for an answer."""

    def __init__(self) -> None:
        self._stopping: set[asyncio.Task[None]] = set()

    def stop(self, agent: Answering, name: str) -> None:
        self.ask(agent, "exec_stop", exec=name)

    def ask(self, agent: Answering, op: str, **arguments: str) -> None:
        stopping = asyncio.create_task(quietly(agent.ask(op, **arguments)))
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)

    async def close(self) -> None:
        for task in self._stopping:
            task.cancel()
        await asyncio.gather(*self._stopping, return_exceptions=True)
