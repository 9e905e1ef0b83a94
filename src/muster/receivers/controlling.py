"""Starts and stops receivers by saying what is wanted, and waits until it is so. A supervisor does the rest; one is
started where none runs."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster.receivers.addresses import Address
from muster.receivers.deployments import Deployment
from muster.receivers.health import answers
from muster.receivers.instances import Instance
from muster.receivers.processes import ProcessMark, is_alive
from muster.receivers.small_files import tried_lock

WITHIN_S = 120.0
_LOOK_EVERY_S = 0.1
_TELL_EVERY_S = 2.0
_FAILURES = 3
"""After this many starts that failed, nobody waits any longer; the supervisor goes on trying."""
Tell = Callable[[str], None]


class State(StrEnum):
    RUNNING = "Running"
    STARTING = "Starting"
    DOWN = "Down"
    """Wanted to run, and it does not."""
    STOPPING = "Stopping"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True)
class Status:
    instance: Instance
    state: State
    pid: int | None = None
    why: str = ""
    """Why it is down."""


class NotDone(Exception):
    """What was wanted did not come to be. The message says which receivers, and why."""


def status_of(deployment: Deployment, address: Address) -> Status:
    wanted = deployment.wanted().get(address)
    instance = deployment.instance(address)
    record = instance.running()
    is_wanted = wanted is not None and wanted.is_running
    if record is None:
        found = instance.supervision()
        why = found.last_end and f"{found.last_end} ({found.failures} in a row)"
        return Status(instance, State.DOWN if is_wanted else State.STOPPED, why=why if is_wanted else "")
    if not is_wanted:
        return Status(instance, State.STOPPING, record.mark.pid)
    is_current = wanted is not None and wanted.generation == record.generation
    if is_current and answers(address):
        return Status(instance, State.RUNNING, record.mark.pid)
    return Status(instance, State.STARTING, record.mark.pid, "the process does not answer" if is_current else "")


def statuses(deployment: Deployment) -> list[Status]:
    return [status_of(deployment, instance.address) for instance in deployment.instances()]


def supervisor_pid(deployment: Deployment) -> int | None:
    try:
        pid, _, start = (deployment.folder / "supervisor.pid").read_text().strip().partition(" ")
        mark = ProcessMark(int(pid), start)
    except (OSError, ValueError):
        return None
    return mark.pid if is_alive(mark) else None


def ensure_supervisor(deployment: Deployment) -> None:
    """Starts a supervisor if none runs. If two are started at once, one of them ends."""
    with tried_lock(deployment.supervisor_lock) as is_free:
        if not is_free:
            return
    with deployment.supervisor_log.open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "muster.receivers.supervising", str(deployment.folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=deployment.folder,
        )


def wait_for(deployment: Deployment, addresses: Sequence[Address], state: State, tell: Tell) -> None:
    """Wait until the receivers are in this state. `tell` is called every two seconds with what is missing. Raises
    NotDone."""
    begun = told = time.monotonic()
    waiting = list(addresses)
    while waiting:
        ensure_supervisor(deployment)
        found = [status_of(deployment, address) for address in waiting]
        waiting = [one.instance.address for one in found if one.state is not state]
        failed = [one for one in found if one.state is State.DOWN and one.instance.supervision().failures >= _FAILURES]
        now = time.monotonic()
        if waiting and (now - begun > WITHIN_S or (failed and state is State.RUNNING)):
            raise NotDone("\n".join(_reason(one) for one in found if one.state is not state))
        if waiting and now - told >= _TELL_EVERY_S:
            told = now
            tell(f"waiting for {', '.join(map(str, waiting))} ({now - begun:.0f}s)")
        if waiting:
            time.sleep(_LOOK_EVERY_S)


def _reason(status: Status) -> str:
    """Say why an instance is not well. The end of its output is quoted, because that names the cause."""
    name, why = status.instance.name, status.why or status.state.lower()
    last = _last_lines(status.instance)
    return f"{name}: {why}" + "".join(f"\n    {line}" for line in last)


def _last_lines(instance: Instance, count: int = 4) -> list[str]:
    try:
        lines = instance.output.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return lines[-count:]
