"""`muster exec` and `muster shell`."""

import os
import shlex
from collections.abc import Sequence

import click

from muster.cli.failures import Failure
from muster.cli.remote_command import RemoteCommand, remote_words
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument
from muster.cli.task_session import run_at_terminal, run_in_pipes, terminal_here

_SHELL = ("/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash -i; exec sh -i")

_NOT_FOUND = 127
_OF_SHELLS = " |;&<>$*`"

_worker_option = click.option(
    "-w",
    "--worker",
    metavar="NAME",
    shell_complete=complete_workers,
    help="The worker, such as worker-0 or just 0; the first one if absent.",
)


@click.command("exec", cls=RemoteCommand)
@job_argument
@_worker_option
@click.option("-i", "--stdin", "has_input", is_flag=True, help="Pass standard input to the command.")
@click.option(
    "-t", "--tty", "has_terminal", is_flag=True, help="Run the command at a terminal, with the keys that you type."
)
@click.pass_context
def command(ctx: click.Context, job: str, worker: str | None, has_input: bool, has_terminal: bool) -> None:
    """Run a command in a running task of a job, next to what it trains.

    The command has the task's environment variables, folder, GPUs and isolation: it sees what the task sees and
    has the same rights. It is not run by a shell: for pipes and variables write `sh -c '...'`. What it uses counts as
    used by the task, also its memory. You may do this in your own jobs, and admins in all. Audit events record who did
    so in which task, but not what they typed.

    Without -t, output and errors are printed unchanged and separately, and the exit code is that of the command. With
    -t, the command has a real terminal, and Ctrl-C goes to it. The command is killed, with everything that it has
    started, when this one ends, when the connection breaks, and when the task ends.

    \b
    Examples:
      muster exec mnist -- nvidia-smi
      muster exec mnist -w worker-1 -- py-spy dump --pid 2
      muster exec @last -it -- python
      tar c config | muster exec mnist -i -- tar x
    """
    words = remote_words(ctx)
    if not words:
        raise click.UsageError("write the command after --, such as: muster exec JOB -- nvidia-smi")
    _run(ctx, job, worker, words, has_input=has_input, has_terminal=has_terminal)


@click.command("shell")
@job_argument
@_worker_option
@click.pass_context
def shell(ctx: click.Context, job: str, worker: str | None) -> None:
    """Open a shell in a running task of a job.

    It is bash, or sh where the task has no bash, with the task's environment variables, folder, GPUs and isolation.
    `exit` or Ctrl-D ends it. The task goes on. See `muster exec --help` for the rest.

    \b
    Examples:
      muster shell mnist
      muster shell @last -w worker-1
    """
    _run(ctx, job, worker, _SHELL, has_input=True, has_terminal=True)


def _run(
    ctx: click.Context, job: str, worker: str | None, words: Sequence[str], *, has_input: bool, has_terminal: bool
) -> None:
    if has_terminal and not (os.isatty(0) and os.isatty(1)):
        hint = "without -t it works in pipes: muster exec JOB -i -- sh"
        raise Failure("there is no terminal here for the command", hint=hint)
    handle = connect().job(job)
    terminal = terminal_here() if has_terminal else None
    with handle.command(words, task=worker, terminal=terminal) as running:
        if worker is None and running.tasks > 1:
            say(f"in {running.task}, one of {running.tasks} tasks; -w selects another")
        end = run_at_terminal(running) if has_terminal else run_in_pipes(running, has_input=has_input)
    if end.task_ended:
        say("the task has ended, and the command with it")
    elif end.exit_code == _NOT_FOUND and len(words) == 1 and any(sign in words[0] for sign in _OF_SHELLS):
        say(f"a command is not run by a shell here; for that: muster exec {job} -- sh -c {shlex.quote(words[0])}")
    ctx.exit(end.exit_code)
