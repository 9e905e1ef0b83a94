"""The supervisor of a deployment: one process that starts receivers, adopts those that run, and starts those anew that
ended. It ends when none is wanted and none runs.

Killed at any moment, it leaves the receivers as they are. The next one finds them by their records.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muster.lib.backoff import exponential
from muster.receivers.addresses import Address
from muster.receivers.deployments import Deployment, Wanted
from muster.receivers.health import answers
from muster.receivers.instances import Supervision
from muster.receivers.processes import Handle, mark_of
from muster.receivers.small_files import tried_lock, write_text

LOOK_EVERY_S = 0.25
STOP_WITHIN_S = 20.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SETTLED_AFTER_S = 30.0
"""One that ran so long and ends is started anew without a pause."""
_READY_WITHIN_S = 60.0
_LARGEST_OUTPUT = 16 << 20
_LAUNCH = (sys.executable, "-m", "muster.receivers.launch")
Log = Callable[[str], None]


async def supervise(deployment: Deployment, log: Log) -> None:
    """Returns when there is nothing to do any more."""
    turn = asyncio.Lock()
    keepers: dict[Address, asyncio.Task[None]] = {}
    try:
        while True:
            wanted = deployment.wanted()
            for address, one in wanted.items():
                is_idle = not one.is_running and deployment.instance(address).running() is None
                if not is_idle and (address not in keepers or keepers[address].done()):
                    keeper = _Keeper(deployment, address, turn, log)
                    keepers[address] = asyncio.create_task(keeper.run(), name=str(address))
            keepers = {address: task for address, task in keepers.items() if not _ended(task, log)}
            if not keepers:
                return
            _bound(deployment.supervisor_log)
            await asyncio.sleep(LOOK_EVERY_S)
    finally:
        for task in keepers.values():
            task.cancel()


def _ended(task: "asyncio.Task[None]", log: Log) -> bool:
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        log(f"{task.get_name()}: {error!r}; it is tried again")
        return False
    return task.done()


class _Keeper:
    """Keeps one receiver as it is wanted. Returns when it is wanted no more and has ended."""

    def __init__(self, deployment: Deployment, address: Address, turn: asyncio.Lock, log: Log) -> None:
        self._deployment = deployment
        self._instance = deployment.instance(address)
        self._turn = turn
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None
        self._failures = 0

    async def run(self) -> None:
        while True:
            wanted = self._wanted()
            record = self._instance.running()
            handle = Handle.open(record.mark) if record is not None else None
            if handle is not None:
                assert record is not None
                if self._child is None:
                    self._log(f"{self._instance.name}: found running, pid {record.mark.pid}")
                await self._keep(handle, record.generation)
            elif wanted is None or not wanted.is_running:
                return
            else:
                await self._start()

    def _wanted(self) -> Wanted | None:
        return self._deployment.wanted().get(self._instance.address)

    async def _keep(self, handle: Handle, generation: str) -> None:
        """Keeps a receiver until its process has ended."""
        since = time.monotonic()
        try:
            while not handle.has_ended():
                wanted = self._wanted()
                if wanted is None or not wanted.is_running:
                    await self._stop(handle, "stopped")
                    return
                if wanted.generation != generation:
                    await self._replace(handle)
                    return
                _bound(self._instance.output)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            handle.close()
        await self._pause(time.monotonic() - since >= SETTLED_AFTER_S)

    async def _pause(self, was_settled: bool) -> None:
        end = self._reaped()
        self._failures = 1 if was_settled else self._failures + 1
        pause = exponential(self._failures, first_s=FIRST_PAUSE_S, limit_s=LONGEST_PAUSE_S)
        self._instance.write_supervision(Supervision(self._failures, end, time.time() + pause))
        self._log(f"{self._instance.name}: {end}; it is started again in {pause:g} s")
        give_up_at = time.monotonic() + pause
        before = self._wanted()
        while time.monotonic() < give_up_at and self._wanted() == before:  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(LOOK_EVERY_S)

    async def _replace(self, handle: Handle) -> None:
        """One after the other, so that the others go on answering meanwhile."""
        async with self._turn:
            await self._stop(handle, "stopped to be started anew")
            wanted = self._wanted()
            if wanted is not None and wanted.is_running:
                await self._start()
                await self._ready()

    async def _ready(self) -> None:
        give_up_at = time.monotonic() + _READY_WITHIN_S
        while time.monotonic() < give_up_at and self._instance.running() is not None:
            if await asyncio.to_thread(answers, self._instance.address):
                return
            await asyncio.sleep(LOOK_EVERY_S)

    async def _stop(self, handle: Handle, what: str) -> None:
        handle.send(signal.SIGCONT)  # one that is paused would not hear that it should end
        handle.send(signal.SIGTERM)
        give_up_at = time.monotonic() + STOP_WITHIN_S
        while not handle.has_ended():
            if time.monotonic() > give_up_at:
                handle.send(signal.SIGKILL)
            await asyncio.sleep(0.05)
        self._reaped()
        self._failures = 0
        self._instance.write_supervision(Supervision())
        self._log(f"{self._instance.name}: {what}")

    async def _start(self) -> None:
        with self._instance.output.open("ab") as output:
            self._child = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
                [*_LAUNCH, str(self._instance.folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=self._instance.folder,
            )
        self._log(f"{self._instance.name}: started, pid {self._child.pid}")
        child = self._child
        while self._instance.running() is None:  # until it has written its record
            if child.poll() is not None:
                await self._pause(was_settled=False)
                return
            await asyncio.sleep(0.02)

    def _reaped(self) -> str:
        """How it ended, as far as that can be known: others reap a process that was adopted."""
        if self._child is None:
            return "ended"
        try:
            code = self._child.wait(5.0)
        except subprocess.TimeoutExpired:
            return "ended"
        self._child = None
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _bound(output: Path) -> None:
    """The process appends to it, so that it can be emptied meanwhile."""
    with suppress(OSError):
        if output.stat().st_size > _LARGEST_OUTPUT:
            shutil.copyfile(output, output.with_name(f"{output.name}.1"))
            os.truncate(output, 0)


def main(folder: Path) -> int:
    deployment = Deployment(folder)
    with tried_lock(deployment.supervisor_lock) as is_first:
        if not is_first:
            _log_line(f"another supervisor of {folder} runs already")
            return 1
        mark = mark_of(os.getpid())
        assert mark is not None
        write_text(folder / "supervisor.pid", f"{mark.pid} {mark.start}\n")
        try:
            if asyncio.run(_until_told(deployment)):
                _log_line(f"all receivers of {folder} are stopped: the supervisor ends")
        finally:
            (folder / "supervisor.pid").unlink(missing_ok=True)
    return 0


async def _until_told(deployment: Deployment) -> bool:
    """SIGTERM and Ctrl-C end the supervisor alone. Returns whether it has ended because nothing was left to do."""
    work = asyncio.create_task(supervise(deployment, _log_line))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        return False
    return True


def _log_line(text: str) -> None:
    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
