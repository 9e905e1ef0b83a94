"""`muster outputs`."""

import time
from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.options import job_argument, output_option
from muster.cli.output import print_document, print_list
from muster.cli.session import connect, say, say_warning
from muster.cli.tables import Column
from muster.cli.uploads import shown_transfer
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
    help="Download all; to a folder named as the job.",
)
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Of an earlier attempt.")
@output_option("table", "wide", "json", "yaml", "name")
def command(job: str, folder: str | None, attempt: int | None, output: str) -> None:
    """List or download what a job's tasks left: the files named by `outputs` in its spec.

    They are brought to the server when tasks have ended, well or not. A download goes on where it was broken off, and
    every file is checked. Of a job with several tasks each has a folder: worker-0/model/weights.

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
        _tell(handle, found)
        return
    found = _awaited(handle, found, attempt)
    target = Path(handle.name if folder == _BY_NAME else folder)
    with shown_transfer("downloading") as progress:
        files = handle.download(target, attempt=found.attempt or None, progress=progress)
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    size = about_bytes(sum(item.size for item in found.items))
    say(f"{len(files)} file{'' if len(files) == 1 else 's'}, {size}, in {target}")
    _tell(handle, found)
    if found.problems or found.left_out:
        hint = "" if found.complete else "they come when the node is back; run this again then"
        raise Failure("not all outputs are here", hint=hint)


def _print(found: OutputsView, output: str) -> None:
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    elif found.items:
        print_list(found.items, _COLUMNS, output, name="path")


def _tell(handle: JobHandle, found: OutputsView) -> None:
    for problem in found.problems:
        say_warning(problem)
    if found.left_out:
        say_warning(f"{len(found.left_out)} files were left out, beyond the server's limit: {found.left_out[0]} …")
    if not found.complete and not found.problems:
        say(f"there may be more to come: job {handle.name} is {handle.state}")
    elif not found.items and not found.problems:
        say(f"job {handle.name} left nothing; `outputs` in its spec names what is brought back")


def _awaited(handle: JobHandle, found: OutputsView, attempt: int | None) -> OutputsView:
    """Of a job that has ended, once all is on the server, or cannot be now."""
    deadline = time.monotonic() + _PATIENCE_S
    tries = 0
    while handle.view.ended and not found.complete and not found.problems and time.monotonic() < deadline:
        tries += 1
        time.sleep(exponential(tries, first_s=0.1, limit_s=2.0))
        found = handle.outputs(attempt)
    return found
