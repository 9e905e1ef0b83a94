"""`muster stacks`."""

from typing import TYPE_CHECKING

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo

if TYPE_CHECKING:
    from muster.api.job_stacks import StacksOut


@click.command()
@job_argument
@click.option(
    "-w",
    "--worker",
    metavar="NAME",
    shell_complete=complete_workers,
    help="The worker, such as worker-0 or just 0; all that run if absent.",
)
@click.option("--kept", "is_kept", is_flag=True, help="Show what was collected before, by hand and by alerts.")
@output_option("table", "json", "yaml")
def command(job: str, worker: str | None, is_kept: bool, output: str) -> None:
    """Show where the processes of a job stand, to see why it hangs.

    Of each process it shows the state of its threads, and what they wait for. Python programs that call
    `muster.allow_stacks()` show the lines of Python that run; so do others if py-spy is on the task's PATH. Nothing is
    stopped or disturbed. You may do this with your own jobs, and admins with all. It is kept with the job, and alerts
    about jobs that hang collect it by themselves.

    \b
    Examples:
      muster stacks mnist
      muster stacks mnist -w worker-1
      muster stacks mnist --kept
    """
    if is_kept and worker is not None:
        raise click.UsageError("--kept shows all workers, so leave out -w.")
    handle = connect().job(job)
    found = handle.kept_stacks() if is_kept else [handle.collect_stacks(worker)]
    if output != "table":
        print_document({"items": found} if is_kept else found[0], output)
        return
    if not found:
        say(f"nothing was collected of {job} yet: muster stacks {job} does so")
    echo("\n\n".join(_lines(one) for one in found))


def _lines(stacks: "StacksOut") -> str:
    parts = [f"collected {stacks['at']} by {stacks['by']}, attempt {stacks['attempt']}"]
    for task in stacks["tasks"]:
        parts.append(f"=== {task['task']} on {task['node']}\n{task['problem'] or task['text'].rstrip()}")
    if stacks["leftOut"]:
        parts.append(f"{stacks['leftOut']} more tasks were not asked: name one with -w")
    return "\n\n".join(parts)
