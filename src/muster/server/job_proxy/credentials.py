"""What a job expects of whoever comes through Muster: the value of `Authorization`, which is in a file of its own.

Other users on the same node can connect to a port of a job, so that an open one would be theirs too. A job with
MUSTER_PROXY_AUTH_FILE in its environment writes a secret into the file of this name in its folder MUSTER_TASK_DIR,
readable for itself only. It is read in the
task, with the task's rights, and kept in memory for as long as the task runs.
"""

import asyncio
from collections import OrderedDict

from muster.domain.errors import MusterError
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.ports.capabilities import CommandEnd, TaskRef

VARIABLE = "MUSTER_PROXY_AUTH_FILE"
_MOST_BYTES = 4096
_WITHIN_S = 30.0
_MOST_KEPT = 10_000
_READ = 'exec cat -- "$MUSTER_TASK_DIR/$MUSTER_PROXY_AUTH_FILE"'


class JobCredentials:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._reading: dict[str, asyncio.Lock] = {}

    async def of(self, job: Job, task: Task) -> bytes | None:
        """Returns None if the job expects nothing, or has not written it yet."""
        if VARIABLE not in job.spec.env:
            return None
        if task.id in self._kept:
            return self._kept[task.id]
        async with self._reading.setdefault(task.id, asyncio.Lock()):
            if task.id not in self._kept and (read := await self._read(job, task)):
                self._kept[task.id] = read
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
        self._reading.pop(task.id, None)
        return self._kept.get(task.id)

    async def _read(self, job: Job, task: Task) -> bytes | None:
        commands = self._context.backend_of(job).capabilities.task_commands
        if commands is None:
            return None
        said = b""
        try:
            async with asyncio.timeout(_WITHIN_S), commands.run(TaskRef.of(task), ("sh", "-c", _READ), None) as session:
                await session.end_input()
                async for piece in session.output():
                    if isinstance(piece, CommandEnd):
                        return said.strip() if piece.exit_code == 0 and _is_header(said.strip()) else None
                    said += piece.data if piece.stream == "stdout" else b""
                    if len(said) > _MOST_BYTES:
                        return None
        except (MusterError, TimeoutError):
            return None
        return None


def _is_header(value: bytes) -> bool:
    return bool(value) and all(32 <= byte < 127 for byte in value)
