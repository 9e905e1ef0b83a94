"""`muster cp`."""

import posixpath
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from muster.cli.failures import Failure
from muster.cli.file_progress import file_line
from muster.cli.session import connect, say_warning
from muster.cli.shared_options import complete_jobs
from muster.cli.worker_names import full_worker
from muster.client.errors import CONFLICT, MusterError
from muster.client.handles import JobHandle
from muster.client.views import TaskView

if TYPE_CHECKING:
    from muster.client.received_tree import Moved


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of jobs with a colon, and files here."""
    if ":" in incomplete or "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    jobs = [CompletionItem(f"{item.value}:", help=item.help) for item in complete_jobs(ctx, parameter, incomplete)]
    return [*jobs, CompletionItem(incomplete, type="file")]


@click.command("cp")
@click.argument("source", metavar="SOURCE", shell_complete=_complete)
@click.argument("target", metavar="TARGET", shell_complete=_complete)
@click.option("-w", "--worker", metavar="NAME", help="The worker, such as worker-0 or just 0; the first one if absent.")
def command(source: str, target: str, worker: str | None) -> None:
    """Copy files and folders out of a running task, or into it. One of SOURCE and TARGET is JOB:PATH.

    Paths are as the task sees them; those that do not begin with a slash are in its working folder. What is copied into
    a folder that is there keeps its name; folders are copied with all that is in them. A file appears under its name
    when all of it has come, so that an interrupted copy leaves nothing half-written. Copying is done with the rights of
    the task, which needs a shell (/bin/sh) and tar or Python. If the job has ended, the
    files are taken from its outputs. `-` as TARGET prints a file.

    \b
    Examples:
      muster cp mnist:model/weights.pt .
      muster cp mnist:logs results -w worker-1
      muster cp config.yaml mnist:
      muster cp data mnist:/tmp/data
      muster cp @last:metrics.json - | jq .loss
    """
    outward, inward = _job_and_path(source), _job_and_path(target)
    if (outward is None) == (inward is None):
        raise click.UsageError(
            "one of SOURCE and TARGET is in a job: muster cp mnist:model . or muster cp model mnist:"
        )
    with file_line("copying") as line:
        if outward is not None:
            _out(connect().job(outward[0]), outward[1], target, worker, line.moved)
        elif inward is not None:
            _in(connect().job(inward[0]), Path(source), inward[1], worker, line.moved)


def _job_and_path(text: str) -> tuple[str, str] | None:
    """`./a:b` and `/a:b` are files here."""
    job, colon, path = text.partition(":")
    return (job, path or ".") if colon and job and "/" not in job and job != "." else None


def _out(handle: JobHandle, path: str, target: str, worker: str | None, moved: "Moved") -> None:
    try:
        if target == "-":
            handle.print_file(path, sys.stdout.buffer, task=worker, moved=moved)
        else:
            handle.copy_from(path, target, task=worker, moved=moved, warn=say_warning)
    except MusterError as error:
        if error.code != CONFLICT or target == "-" or not handle.refresh().view.ended:
            raise
        _outputs(handle, path, target, worker, moved)


def _in(handle: JobHandle, source: Path, path: str, worker: str | None, moved: "Moved") -> None:
    if str(source) == "-":
        hint = f"muster exec -i {handle.name} -- sh -c 'cat > file'"
        raise Failure("standard input cannot be copied, because its size is not known", hint=hint)
    try:
        handle.copy_to(source, path, task=worker, moved=moved)
    except MusterError as error:
        if error.code != CONFLICT or not handle.refresh().view.ended:
            raise
        hint = f"`muster retry {handle.name}` runs it again; `inputs` in a job file names files that tasks get"
        raise Failure(
            f"job {handle.name} has ended: files can only be copied into a running task", hint=hint
        ) from error


def _outputs(handle: JobHandle, path: str, target: str, worker: str | None, moved: "Moved") -> None:
    """What the server has collected from the tasks. If there are several, each has a folder."""
    plain = posixpath.normpath(path)
    wanted = f"{_folder_of(handle.tasks(), worker)}/{plain}" if handle.view.tasks > 1 else plain
    if not handle.copy_output(wanted, Path(target), moved):
        raise Failure(
            f"job {handle.name} has ended, and {path} is not among its outputs",
            hint=f"`muster outputs {handle.name}` lists them; `outputs` in a job file names what is kept of a task",
        )


def _folder_of(tasks: list[TaskView], worker: str | None) -> str:
    return tasks[0].short_name if worker is None else full_worker(tasks, worker)
