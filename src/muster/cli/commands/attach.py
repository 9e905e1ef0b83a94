"""`muster attach`."""

import click

from muster.cli.attaching import exchange, is_at_terminal, look_on
from muster.cli.detach_keys import detach_keys_option
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument
from muster.cli.task_session import terminal_here

_LINES = 20


@click.command("attach")
@job_argument
@click.option(
    "-w",
    "--worker",
    metavar="NAME",
    shell_complete=complete_workers,
    help="The worker, such as worker-0 or just 0; the first one with standard input if absent.",
)
@click.option("--tail", type=click.IntRange(0, 100_000), help="Print this many of its last lines first.")
@click.option("--no-stdin", is_flag=True, help="Only watch the output, and pass nothing to the task.")
@detach_keys_option
@click.pass_context
def command(
    ctx: click.Context, job: str, worker: str | None, tail: int | None, no_stdin: bool, detach_keys: bytes
) -> None:
    """Attach to a running task that was started with `muster run -i` or -it, or with `stdin: true` in its job file.

    It prints the last lines of the task, a screen of them by default, and from then on you work at it. Several people
    may be attached to one task: all see what it prints, and it reads what each of them types. The detach keys leave it,
    and the job goes on. If the task ends, the exit code is its own.

    \b
    Examples:
      muster attach repl
      muster attach @last -w worker-1
      muster attach repl --no-stdin --tail 500
      muster attach repl --detach-keys ctrl-a,d
    """
    handle = connect().job(job)
    terminal = terminal_here() if is_at_terminal() and not no_stdin else None
    lines = tail if tail is not None else int(terminal["rows"]) if terminal else _LINES
    with handle.attach(task=worker, terminal=terminal, tail=lines) as session:
        if worker is None and session.tasks > 1:
            say(f"in {session.task}, one of {session.tasks} tasks; -w selects another")
        end = look_on(handle, session) if no_stdin else exchange(handle, session, detach_keys)
    ctx.exit(end.exit_code)
