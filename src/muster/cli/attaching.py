"""Working at a task whose standard input stays open: waiting until it runs, leaving it, and the exit code."""

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from muster.cli.failures import Failure
from muster.cli.job_following import print_outcome
from muster.cli.logs.printing import printer
from muster.cli.session import say
from muster.cli.task_session import Detached, run_at_terminal, run_in_pipes, terminal_here, watch
from muster.cli.wait_reasons import print_wait_reasons
from muster.client.errors import CONFLICT, UNREACHABLE, MusterError
from muster.client.handles import JobHandle

if TYPE_CHECKING:
    from muster.client.task_commands import TaskCommand, TaskCommandResult

_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")


def require_terminal(words: Sequence[str]) -> None:
    """`-t` was once the time limit, so what looks like one is not taken for a command."""
    if words and _DURATION.fullmatch(words[0]):
        raise click.UsageError(f"-t is --tty; for a time limit write --time-limit {words[0]}")
    if not is_at_terminal():
        hint = "without -t it works in pipes: muster run -i -- python -"
        raise Failure("there is no terminal here for the command", hint=hint)


def is_at_terminal() -> bool:
    return os.isatty(0) and os.isatty(1)


def work_at(handle: JobHandle, detach_keys: bytes) -> NoReturn:
    """Stays with a job that was just submitted until it has ended. Exits with the code of its command."""
    end = None
    while (session := _begun(handle)) is not None:
        with session:
            end = exchange(handle, session, detach_keys)
    if end is None:  # it ended before we came
        printer(handle.name, prefixed=handle.view.tasks > 1).print(handle.logs())
    handle.wait()
    print_outcome(handle.view)
    code = _code_of_first(handle) if end is None else end.exit_code
    raise click.exceptions.Exit(code or (0 if handle.view.ok else 1))


def exchange(handle: JobHandle, session: "TaskCommand", detach_keys: bytes) -> "TaskCommandResult":
    """Connects terminal and task until the task has ended. Leaving it says how to come back."""
    try:
        if session.has_terminal and is_at_terminal():
            return run_at_terminal(session, detach_keys)
        return run_in_pipes(session, has_input=True)
    except (Detached, KeyboardInterrupt) as left:
        leave(handle, 0 if isinstance(left, Detached) else 130)
    except MusterError as error:
        raise _with_way_back(error, handle) from error


def look_on(handle: JobHandle, session: "TaskCommand") -> "TaskCommandResult":
    """The output only. Ctrl-C leaves the task."""
    try:
        return watch(session)
    except KeyboardInterrupt:
        leave(handle, 130)
    except MusterError as error:
        raise _with_way_back(error, handle) from error


def leave(handle: JobHandle, code: int) -> NoReturn:
    say(f"\ndetached; job {handle.name} continues")
    say(f"  muster attach {handle.name}    come back")
    say(f"  muster kill {handle.name}      stop it")
    raise click.exceptions.Exit(code)


def _begun(handle: JobHandle) -> "TaskCommand | None":
    """Attaches as soon as the task runs. None if the job has ended."""
    try:
        with print_wait_reasons(handle, say):
            for _ in handle.events(follow=True):
                if handle.refresh().view.ended:
                    return None
                if handle.state == "Running" and (session := _attached(handle)) is not None:
                    return session
    except KeyboardInterrupt:
        _cancel(handle)
    handle.wait()
    return None


def _attached(handle: JobHandle) -> "TaskCommand | None":
    """Returns None if the task does not run yet, or no more."""
    try:
        return handle.attach(terminal=terminal_here() if is_at_terminal() else None)
    except MusterError as error:
        if error.code != CONFLICT:
            raise
        return None


def _cancel(handle: JobHandle) -> NoReturn:
    """Nobody has worked at it, so nothing is lost."""
    try:
        handle.kill()
        say(f"\ncancelled job {handle.name} before it started")
    except MusterError as error:
        if error.code != CONFLICT:
            raise
    raise click.exceptions.Exit(130)


def _code_of_first(handle: JobHandle) -> int:
    tasks = handle.tasks()
    return (tasks[0].exit_code or 0) if tasks else 0


def _with_way_back(error: MusterError, handle: JobHandle) -> MusterError:
    if error.code != UNREACHABLE:
        return error
    return MusterError(error.message, code=error.code, hint=f"`muster attach {handle.name}` comes back to it")
