"""`muster outputs`."""

import time
from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import job_argument, output_option
from muster.cli.tables.output import print_document, print_list
from muster.cli.tables.text_tables import Column
from muster.cli.transfer_progress import transfer_progress
from muster.client.handles import JobHandle
from muster.client.output_views import OutputsView, OutputView
from muster.lib.backoff import exponential
from muster.lib.quantities import about_bytes

_COLUMNS: tuple[Column[OutputView], ...] = (
    Column("PATH", lambda output: output.path),
    Column("SIZE", lambda output: about_bytes(output.size), right=True),
    Column("MODIFIED", lambda output: output.modified_at),
    Column("SHA256", lambda output: output.sha256, wide=True),
)
_BY_NAME = "\0"
_PATIENCE_S = 600.0


@click.command()
@job_argument
@click.option(
    "--get",
    "folder",
    metavar="[DIR]",
    is_flag=False,
    flag_value=_BY_NAME,
    help="Download all files, by default to a folder with the name of the job.",
)
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="An earlier attempt.")
@output_option("table", "wide", "json", "yaml", "name")
def command(job: str, folder: str | None, attempt: int | None, output: str) -> None:
    """List or download the output files of a job, which `outputs` in its spec names.

    They are copied to the server when tasks have ended, whether they succeeded or not. An interrupted download resumes,
    and every file is verified. If a job has several tasks, each has a folder: worker-0/model/weights.

    \b
    Examples:
      muster outputs mnist
      muster outputs mnist --get
      muster outputs @last --get results
      muster outputs mnist -o json
    """
    handle = connect().job(job)
    found = handle.outputs(attempt)
    if folder is None:
        _print(found, output)
        _print_notes(handle, found)
        return
    found = _wait_for_outputs(handle, found, attempt)
    has_none = found.complete and not (found.items or found.problems or found.left_out)
    if has_none and output not in ("json", "yaml"):
        _print_notes(handle, found)
        return
    target = Path(handle.name if folder == _BY_NAME else folder)
    with transfer_progress("downloading") as progress:
        files = handle.download(target, attempt=found.attempt or None, progress=progress)
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    size = about_bytes(sum(item.size for item in found.items))
    say(f"{len(files)} file{'' if len(files) == 1 else 's'}, {size}, in {target}")
    _print_notes(handle, found)
    if found.problems or found.left_out:
        hint = "" if found.complete else "they are copied when the node is reachable again; run this command again then"
        raise Failure("some outputs are missing", hint=hint)


def _print(found: OutputsView, output: str) -> None:
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    elif found.items:
        print_list(found.items, _COLUMNS, output, name="path")


def _print_notes(handle: JobHandle, found: OutputsView) -> None:
    for problem in found.problems:
        say_warning(problem)
    if found.left_out:
        say_warning(f"{len(found.left_out)} files exceed the server's limit and were left out: {found.left_out[0]} …")
    if not found.complete and not found.problems:
        say(f"there may be more outputs later: job {handle.name} is {handle.state}")
    elif not found.items and not found.problems:
        say(f"job {handle.name} has no outputs: {_why_none(handle)}")


def _why_none(handle: JobHandle) -> str:
    if handle.spec().get("outputs"):
        return "it left no file that `outputs` in its spec names"
    return "its spec names none; `outputs` in a job file, or `muster run --outputs`, says what is kept of a task"


def _wait_for_outputs(handle: JobHandle, found: OutputsView, attempt: int | None) -> OutputsView:
    """Waits until the outputs of an ended job are on the server, or cannot be copied now."""
    deadline = time.monotonic() + _PATIENCE_S
    tries = 0
    while handle.view.ended and not found.complete and not found.problems and time.monotonic() < deadline:
        tries += 1
        time.sleep(exponential(tries, first_s=0.1, limit_s=2.0))
        found = handle.outputs(attempt)
    return found
