"""`muster model`, which keeps outputs of jobs under a name."""

import re
import sys
from pathlib import Path

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_jobs, complete_models, output_option
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.tables.sweep_columns import params_text
from muster.cli.tables.text_tables import Column, render
from muster.cli.terminal import echo
from muster.cli.transfer_progress import transfer_progress
from muster.client.model_views import ModelView
from muster.client.output_views import OutputView
from muster.lib.counting import counted
from muster.lib.quantities import about_bytes

_REF = re.compile(r"([^@]+)(?:@(\d+))?")
_MODEL = click.argument("ref", metavar="NAME[@VERSION]", shell_complete=complete_models)
_OWNER = click.option("--owner", metavar="USER", help="A model of this user; for admins.")


@click.group(cls=Group)
def command() -> None:
    """Keep outputs of jobs as models, in versions that never change, and download them.

    Each version knows the job, the code, the data and the params that it comes from, also after the job was deleted.

    \b
    Examples:
      muster model register mnist:model/ digits
      muster model list
      muster model get digits
      muster model get digits@2 ./digits
      muster model delete digits@1
    """


@command.command()
@click.argument("source", metavar="JOB:PATH", shell_complete=complete_jobs)
@click.argument("name", shell_complete=complete_models)
@click.option("--description", default="", metavar="TEXT", help="What it is, in one sentence.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="The outputs of an earlier attempt.")
@output_option("name", "json", "yaml", default="name")
def register(source: str, name: str, description: str, attempt: int | None, output: str) -> None:
    """Register a file or folder of a job's outputs as a new version of the model NAME.

    `muster outputs JOB` lists what there is. JOB: alone means all outputs. The files are copied on the server. The same
    files of the same job again change nothing.

    \b
    Examples:
      muster model register mnist:model/ digits
      muster model register lr-search-7:weights.pt digits --description "The best of the first search"
    """
    job, colon, path = source.partition(":")
    if not colon or not job:
        raise click.UsageError(f"{source!r} is not JOB:PATH, such as mnist:model/; `muster outputs JOB` lists paths")
    client = connect()
    made = client.register_model(client.job(job).id, path, name, description=description, attempt=attempt)
    files = counted(len(made.files.items), "file")
    say(f"{made.ref} has {files}, {about_bytes(made.size_bytes)}, of job {made.lineage['job']}")
    if output == "name":
        echo(made.ref)
    else:
        print_document(made.raw, output)


@command.command("list")
@click.argument("name", required=False, shell_complete=complete_models)
@_OWNER
@click.option("--all-users", is_flag=True, help="Models of everybody; for admins.")
@output_option()
def list_models(name: str | None, owner: str | None, all_users: bool, output: str) -> None:
    """List your models in their newest versions, or all versions of the model NAME.

    \b
    Examples:
      muster model list
      muster model list digits -o wide
    """
    columns: list[Column[ModelView]] = [
        Column("NAME", lambda one: one.name),
        Column("VERSION", lambda one: one.version, right=True),
        Column("OWNER", lambda one: one.owner, wide=not all_users),
        Column("SIZE", lambda one: about_bytes(one.size_bytes), right=True),
        Column("JOB", lambda one: one.lineage.get("job")),
        Column("JOB ID", lambda one: one.lineage.get("jobId"), wide=True),
        Column("PARAMS", lambda one: params_text(one.lineage.get("params") or {})),
        Column("PACKAGE", lambda one: str(one.lineage.get("package") or "")[:12], wide=True),
        Column("REGISTERED", lambda one: one.created_at.strftime("%Y-%m-%d") if one.created_at else ""),
        Column("DESCRIPTION", lambda one: one.description),
    ]
    found = connect().models(name, owner="*" if all_users else owner)
    print_list(found, columns, output)
    if not found:
        say("no models")


@command.command()
@_MODEL
@_OWNER
@output_option("table", "json", "yaml")
def describe(ref: str, owner: str | None, output: str) -> None:
    """Show a version of a model: its files, and the job, code, data and params that it comes from.

    \b
    Example:
      muster model describe digits@2
    """
    found = _find(ref, owner)
    if output != "table":
        print_document(found.raw, output)
        return
    lineage = found.lineage
    print_pairs(
        [
            ("Model", found.ref),
            ("Owner", found.owner),
            ("Registered", found.raw.get("createdAt")),
            ("Description", found.description),
            ("Job", f"{lineage['job']} ({lineage['jobId']}), attempt {lineage['attempt']}"),
            ("Output", lineage.get("path")),
            ("Params", params_text(lineage.get("params") or {})),
            ("Package", lineage.get("package")),
            ("Commit", lineage.get("commit")),
            ("Inputs", ", ".join(lineage.get("inputs") or ())),
            ("Mounts", ", ".join(lineage.get("mounts") or ())),
            ("Image", lineage.get("image")),
            ("Cluster", lineage.get("cluster")),
            ("Sweep", f"{lineage['sweep']}, member {lineage['member']}" if lineage.get("sweep") else ""),
        ]
    )
    columns: list[Column[OutputView]] = [
        Column("PATH", lambda one: one.path),
        Column("SIZE", lambda one: about_bytes(one.size), right=True),
        Column("SHA256", lambda one: one.sha256),
    ]
    echo("\n" + "\n".join(render(columns, found.files.items)))


@command.command()
@_MODEL
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
@_OWNER
@output_option("name", "json", "yaml", default="name")
def get(ref: str, folder: Path | None, owner: str | None, output: str) -> None:
    """Download a version of a model, by default the newest, to DIR or to a folder with its name.

    An interrupted download resumes, and every file is verified.

    \b
    Examples:
      muster model get digits
      muster model get digits@2 ./digits
    """
    found = _find(ref, owner)
    target = folder or Path(found.name)
    with transfer_progress("downloading") as progress:
        files = connect().download_model(found, target, progress=progress)
    say(f"{found.ref}: {counted(len(files), 'file')}, {about_bytes(found.size_bytes)}, in {target}")
    if output == "name":
        echo(target)
    else:
        print_document(found.raw, output)


@command.command()
@_MODEL
@click.option("--all", "every", is_flag=True, help="Delete all versions.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@_OWNER
def delete(ref: str, every: bool, yes: bool, owner: str | None) -> None:
    """Delete a version of a model with its files, or all versions. No later version gets its number.

    The job that it comes from stays, with its outputs.

    \b
    Examples:
      muster model delete digits@2
      muster model delete digits --all
    """
    name, version = _parsed(ref)
    if (version is None) != every:
        raise click.UsageError(f"name a version, such as {name}@2, or all versions of {name} with --all")
    found = connect().model(name, version, owner=owner)
    what = f"all versions of {found.name}" if every else found.ref
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("cannot ask for confirmation without a terminal; add -y")
        click.confirm(f"Delete {what}, with the files?", abort=True, err=True)
    connect().delete_model(name, version, owner=owner)
    say(f"deleted {what}")


def _find(ref: str, owner: str | None) -> ModelView:
    name, version = _parsed(ref)
    return connect().model(name, version, owner=owner)


def _parsed(ref: str) -> tuple[str, int | None]:
    parsed = _REF.fullmatch(ref)
    if parsed is None:
        raise click.UsageError(f"{ref!r} is neither NAME nor NAME@VERSION, such as digits@2")
    return parsed[1], int(parsed[2]) if parsed[2] else None
