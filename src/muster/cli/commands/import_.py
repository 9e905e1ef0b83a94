"""`muster import`."""

from pathlib import Path
from typing import Any

import click

from muster.cli.failures import Failure
from muster.cli.job_translation import print_translated
from muster.cli.key_values import parse_assignments
from muster.cli.master_import import apply, planned, write_files
from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.client.job_files import JobFile
from muster.client.master_slaver.folder import is_master_folder
from muster.client.submitting import Changes, read_text

_MASTER = "master"


@click.command()
@click.argument("path", metavar="FILE|FOLDER", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="For a file: change a value of the spec, as `muster submit` does; repeatable.",
)
@click.option("-n", "--name", help="For a file: another name for the job.")
@click.option("--cluster", metavar="NAME", help=f"For a folder: what to call the cluster.  [default: {_MASTER}]")
@click.option(
    "--write",
    "home",
    metavar="HOME",
    type=click.Path(file_okay=False, path_type=Path),
    help="For a folder: write the settings and the cluster file into this home folder of a server, such as ~/.muster.",
)
@click.option(
    "--apply", "applied", is_flag=True, help="For a folder: submit the waiting tasks, and record the ended ones."
)
@output_option("yaml", "json", default="yaml")
def command(
    path: Path,
    sets: tuple[str, ...],
    name: str | None,
    cluster: str | None,
    home: Path | None,
    applied: bool,
    output: str,
) -> None:
    """Show the Muster spec that a job file of another system becomes, or what the folder of a master/slaver task
    manager becomes.

    Of a file, a comment at each value says which line it came from, and comments at the end what has no effect. What
    cannot be translated is an error, with its line. What is printed can be submitted, and makes the same job.

    A folder becomes settings, a cluster, queued jobs and history. Without --write and --apply nothing is changed. Every
    task that is left out, and every field without effect, is listed. --apply needs an admin, because it records jobs
    that ended elsewhere. It can be repeated: what is there already is left as it is.

    \b
    Examples:
      muster import train.sbatch > job.yaml
      muster import task.yaml --set runtime.image=null
      muster import master/
      muster import master/ --cluster lab --write ~/.muster
      muster import master/ --cluster lab --apply
    """
    if path.is_dir():
        if sets or name is not None:
            raise click.UsageError("--set and --name are for a job file, and this is a folder")
        _import_folder(path, cluster or _MASTER, home, applied, output)
        return
    if cluster is not None or home is not None or applied:
        raise click.UsageError("--cluster, --write and --apply are for a folder, and this is a file")
    overrides: dict[str, Any] = parse_assignments(sets, "--set")
    if name is not None:
        overrides["name"] = name
    found = JobFile(str(path), read_text(path), path.expanduser().parent)
    print_translated(found, Changes(overrides), output)


def _import_folder(path: Path, cluster: str, home: Path | None, applied: bool, output: str) -> None:
    if not is_master_folder(path):
        raise Failure(
            f"{path} is not the folder of a master/slaver task manager", hint="it has conf.json and task_info"
        )
    plan = planned(path, cluster)
    if not applied and home is None:
        print_document(plan.document(), output)
        say("Dry run: nothing was changed; --write and --apply do it")
        return
    for note in (*plan.skipped, *plan.notes):
        say(str(note))
    if home is not None:
        write_files(plan, home.expanduser())
    if applied:
        made = apply(plan, connect())
        say(f"{made.queued} queued, {made.recorded} recorded in the history, {made.known} there already")
