"""Runs commands in the pods of tasks.

Kubernetes kills nothing when a connection to a command is closed. So a second command waits in the same container, for
as long as its own connection is open, and then kills everything that carries the mark of the first: also if this server
was killed. The image needs a shell for that.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from muster.backends.kubernetes.pod_state import MAIN
from muster.domain.errors import BackendError, Conflict, MusterError, Rejected
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Missing
from muster.kubernetes.pod_commands import STDOUT, PodCommand, PodCommandEnd, PodOutput, run_in_pod
from muster.kubernetes.resources import PODS
from muster.ports.capabilities import CommandEnd, CommandOutput, CommandSession, TaskRef, Terminal

_READY = b"ready"
_KILLED = 137
_PIECE_BYTES = 16 << 10
_COMMAND = 'export MUSTER_EXEC="$0"; exec "$@"'
_AT_TERMINAL = """
export MUSTER_EXEC="$0" TERM="$1"
stty rows "$2" cols "$3" 2>/dev/null
shift 3
exec "$@"
"""
"""The size is set here, too, because Kubernetes may tell it to the terminal after the command has begun."""
_WATCH = r"""
echo ready
cat > /dev/null
rounds=0
while [ "$rounds" -lt 50 ]; do
  found=
  for process in /proc/[0-9]*; do
    if { tr '\0' '\n' < "$process/environ" | grep -qxF "MUSTER_EXEC=$0"; } 2>/dev/null; then
      kill -9 "${process#/proc/}" 2>/dev/null && found=1
    fi
  done
  [ -n "$found" ] || exit 0
  rounds=$((rounds + 1))
done
"""
"""Argument: the mark."""


class PodCommands:
    """Implements `ports.capabilities.TaskCommands`."""

    def __init__(self, connected: Callable[[], Connection]) -> None:
        self._connected = connected

    @asynccontextmanager
    async def run(self, task: TaskRef, argv: Sequence[str], terminal: Terminal | None) -> AsyncIterator[CommandSession]:
        connection = self._connected()
        namespace, _, pod = (task.handle or "").partition("/")
        if not pod:
            raise Conflict("the task has no pod yet", hint="wait until it runs")
        mark = secrets.token_hex(16)
        size = None if terminal is None else (terminal.rows, terminal.columns)
        words = ("sh", "-c", *_start(mark, terminal), *argv)
        is_started = False
        try:
            async with run_in_pod(connection, namespace, pod, MAIN, ("sh", "-c", _WATCH, mark)) as watch:
                await _ready(watch)
                async with run_in_pod(connection, namespace, pod, MAIN, words, size) as command:
                    is_started = True
                    yield _Session(connection, namespace, pod, command)
        except Denied:
            raise Rejected(
                f"the account of this cluster may not run commands in pods of namespace {namespace}",
                hint="an admin of the cluster grants it the rights `create` and `get` on pods/exec",
            ) from None
        except BackendError as error:
            if not is_started and await _has_ended(connection, namespace, pod):
                hint = "`muster get workers JOB` shows which tasks run"
                raise Conflict("the task is not running", hint=hint) from error
            raise


class _Session:
    def __init__(self, connection: Connection, namespace: str, pod: str, command: PodCommand) -> None:
        self._connection = connection
        self._namespace = namespace
        self._pod = pod
        self._command = command

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            await self._command.send(data[start : start + _PIECE_BYTES])

    async def end_input(self) -> None:
        await self._command.end_input()

    async def resize(self, rows: int, columns: int) -> None:
        await self._command.resize(rows, columns)

    async def output(self) -> AsyncGenerator[CommandOutput | CommandEnd]:
        while True:
            try:
                told = await self._command.receive()
            except BackendError:
                if not await self._has_task_ended():
                    raise
                yield CommandEnd(_KILLED, task_ended=True)
                return
            if isinstance(told, PodCommandEnd):
                is_killed = told.exit_code == _KILLED
                yield CommandEnd(told.exit_code, task_ended=is_killed and await self._has_task_ended())
                return
            yield CommandOutput("stdout" if told.channel == STDOUT else "stderr", told.data)

    async def _has_task_ended(self) -> bool:
        return await _has_ended(self._connection, self._namespace, self._pod)


async def _has_ended(connection: Connection, namespace: str, pod: str) -> bool:
    try:
        return not _is_running(await connection.get(PODS, pod, namespace))
    except Missing:
        return True
    except MusterError:
        return False


async def _ready(watch: PodCommand) -> None:
    said = b""
    while _READY not in said:
        told = await watch.receive()
        if isinstance(told, PodCommandEnd):
            text = said.decode(errors="replace").strip()
            raise Rejected(f"no command can be watched in this container: {text or f'exit code {told.exit_code}'}")
        assert isinstance(told, PodOutput)
        said += told.data


def _start(mark: str, terminal: Terminal | None) -> tuple[str, ...]:
    """The script that becomes the command, and its first arguments."""
    if terminal is None:
        return _COMMAND, mark
    return _AT_TERMINAL, mark, terminal.kind, str(terminal.rows), str(terminal.columns)


def _is_running(pod: Mapping[str, Any]) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    states = {one["name"]: one.get("state") or {} for one in pod.get("status", {}).get("containerStatuses") or ()}
    return "running" in states.get(MAIN, {})
