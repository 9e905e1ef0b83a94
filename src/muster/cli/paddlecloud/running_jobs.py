"""`logs` and `kill`."""

import click

from muster.cli.failures import Failure
from muster.cli.paddlecloud.session import open_session
from muster.cli.paddlecloud.workers import find_worker, trainers, worker_name
from muster.cli.session import say
from muster.cli.terminal import safe_log
from muster.client.handles import JobHandle
from muster.client.views import TaskView

_RULE = "=" * 26


@click.command()
@click.option("-n", "lines", type=click.IntRange(min=1), default=10, show_default=True, help="So many lines of each.")
@click.option("-w", "worker", help="One worker, as `get workers` names it.")
@click.argument("job")
def logs(lines: int, worker: str | None, job: str) -> None:
    """Print the last lines of the logs of a job's workers.

    \b
    Examples:
      muster paddlecloud logs paddle-cluster-job
      muster paddlecloud logs -n 100 -w paddle-cluster-job-trainer-3s4nz paddle-cluster-job
    """
    handle = open_session().client.job(job)
    tasks = handle.tasks()
    if worker is not None:
        chosen = find_worker(handle.name, tasks, worker)
        if chosen is None:
            known = ", ".join(worker_name(handle.name, task) for task in tasks) or "none yet"
            raise Failure(f"job {handle.name} has no worker {worker!r}", hint=f"its workers are {known}")
        _print_log(handle, chosen, lines)
        return
    for task in trainers(tasks):
        click.echo(f"{_RULE}{worker_name(handle.name, task)}{_RULE}")
        _print_log(handle, task, lines)


@click.command()
@click.option("-rm", "--rm", "remove", is_flag=True, help="Accepted, without effect: the record of the job is kept.")
@click.argument("job")
def kill(remove: bool, job: str) -> None:
    """Stop a job. Its workers end in the background; `get workers` lists them.

    \b
    Example:
      muster paddlecloud kill paddle-cluster-job
    """
    handle = open_session().client.job(job).kill()
    say(f"job {handle.name} is being stopped")


def _print_log(handle: JobHandle, task: TaskView, lines: int) -> None:
    ends_line = True
    for chunk in handle.logs(tasks=[task.name], tail=lines):
        click.echo(safe_log(chunk.text), nl=False)
        ends_line = chunk.text.endswith("\n")
    if not ends_line:
        click.echo()
