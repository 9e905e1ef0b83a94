"""The capability `task-connections`: connections to ports of running tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from muster.domain.errors import BackendError, Conflict
from muster.domain.tasks import Task
from muster.ports.capabilities import CommandOutput, TaskConnections, TaskRef
from tests.contract.backends.observing import DEADLINE_S, Site

pytestmark = pytest.mark.anyio
_SERVER = """
import socket
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
while True:
    connection, _ = listening.accept()
    with connection:
        size = int(connection.makefile("rb").readline())
        connection.sendall(b"x" * size)
"""
"""Sends as many bytes as it is asked for."""


async def test_bytes_of_any_number_come_whole_and_ends_are_noticed(site: Site) -> None:
    connections = _connections(site)
    (task,) = await site.running()
    async with asyncio.timeout(DEADLINE_S), _listening(site, task) as port:
        for size in (1, 3_000_000):
            async with connections.connect(TaskRef.of(task), port) as connection:
                await connection.send(f"{size}\n".encode())
                came = 0
                async for piece in connection.received():
                    came += len(piece)
                assert came == size


async def test_a_port_on_which_nothing_of_the_task_listens_is_refused(site: Site) -> None:
    connections = _connections(site)
    (task,) = await site.running()
    with pytest.raises(Conflict, match="port 1"):
        await _answer(connections, TaskRef.of(task), 1)


async def test_a_task_that_does_not_exist_is_refused(site: Site) -> None:
    connections = _connections(site)
    (task,) = await site.running()
    handle = f"{task.handle}-not" if task.handle else None
    with pytest.raises((Conflict, BackendError)):
        await _answer(connections, TaskRef("no-such-task", handle, task.placement.node), 80)


async def _answer(connections: TaskConnections, task: TaskRef, port: int) -> bytes:
    async with asyncio.timeout(DEADLINE_S), connections.connect(task, port) as connection:
        await connection.send(b"1\n")
        return b"".join([piece async for piece in connection.received()])


@asynccontextmanager
async def _listening(site: Site, task: Task) -> AsyncIterator[int]:
    """The port of a command in the task that listens. It belongs to the task as much as what the task starts itself."""
    commands = site.backend.capabilities.task_commands
    assert commands is not None
    async with commands.run(TaskRef.of(task), ("python3", "-c", _SERVER), None) as session:
        said = b""
        async for piece in session.output():
            assert isinstance(piece, CommandOutput), said
            said += piece.data
            if b"\n" in said:
                break
        yield int(said)


def _connections(site: Site) -> TaskConnections:
    connections = site.backend.capabilities.task_connections
    if connections is None:
        pytest.skip("this backend does not offer connections to tasks")
    return connections
