"""An agent that is a process on the server's own machine, and is reached over its standard streams."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.backends.agents.connection import agent_arguments

_LEAVE_WITHIN_S = 5.0
Streams = tuple[ByteReader, ByteWriter]


@asynccontextmanager
async def agent_process(*program: str, root: str, epoch: int, env: Mapping[str, str]) -> AsyncIterator[Streams]:
    """Runs the agent with this Python until the context is left. `program` is what follows Python's name, and `env` is
    all of its environment. Ctrl-C at the server's terminal does not reach it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        "--root",
        root,
        *agent_arguments(epoch),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=env,
        limit=1 << 20,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout, process.stdin
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(_LEAVE_WITHIN_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
