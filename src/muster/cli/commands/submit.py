"""`muster submit`."""

import sys
from pathlib import Path
from typing import Any

import click

from muster.cli.assignments import parse_assignments
from muster.cli.following import exit_by, follow, wait_quietly
from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.plans import print_plan
from muster.cli.session import connect, say
from muster.cli.uploads import announce_packing, shown_upload
from muster.client.errors import BAD_INPUT, MusterError
from muster.client.submitting import Changes, Submission, from_text, prepare
from muster.client.views import JobView


@click.command()
@click.argument("file", metavar="FILE|-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change the spec: roles.worker.replicas=4.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Set a parameter: lr=0.01.")
@click.option("-n", "--name", help="Another name for the job.")
@click.option("--cluster", metavar="NAME", help="Where to run it.")
@click.option("--hold", is_flag=True, help="Accept it but do not start it until `muster resume`.")
@click.option("--dry-run", is_flag=True, help="Check it and show what would be started; start nothing.")
@click.option("--wait", is_flag=True, help="Wait for its end; exit 0 if it succeeded, else 1.")
@click.option("-f", "--follow", "followed", is_flag=True, help="Follow its logs to its end, then exit as --wait does.")
@output_option("json", "yaml", "name", default="name")
def command(
    file: str,
    sets: tuple[str, ...],
    params: tuple[str, ...],
    name: str | None,
    cluster: str | None,
    hold: bool,
    dry_run: bool,
    wait: bool,
    followed: bool,
    output: str,
) -> None:
    """Submit a job file (YAML or JSON), or `-` for standard input.

    A `package:` folder in it is packed and sent first, once; .gitignore and .musterignore say what stays at home.
    Everything wrong with the file is told at once, with its line.

    \b
    Examples:
      muster submit job.yaml
      muster submit job.yaml --set roles.worker.replicas=4 --param lr=0.01 --follow
      muster submit job.yaml --dry-run
      sed s/small/large/ job.yaml | muster submit - --name large --wait
      muster submit job.yaml -o json | jq -r .id
    """
    overrides: dict[str, Any] = parse_assignments(sets, "--set")
    for key, value in (("name", name), ("cluster", cluster), ("hold", True if hold else None)):
        if value is not None:
            overrides[key] = value
    submission = _read(file, Changes(overrides, parse_assignments(params, "--param")))
    client = connect()
    if dry_run:
        print_plan(client.dry_run(submission), output)
        return
    with shown_upload() as progress:
        handle = client.send(submission, progress=progress, announce=announce_packing)
    say(f"submitted job {handle.name} ({handle.id})")
    if followed:
        exit_by(_ended(follow(handle), output))
    if wait:
        say(f"  muster logs -f {handle.name}    follow its output")
        exit_by(_ended(wait_quietly(handle), output))
    _print_job(handle.view, output)
    say(f"  muster logs -f {handle.name}    follow its output")
    say(f"  muster explain {handle.name}    why it waits, or why it failed")


def _read(file: str, changes: Changes) -> Submission:
    if file != "-":
        return prepare(Path(file), changes)
    if sys.stdin.isatty():
        say("reading the job from standard input; end it with Ctrl-D")
    try:
        return from_text(sys.stdin.read(), Path.cwd(), changes)
    except UnicodeDecodeError as error:
        raise MusterError("standard input is not a text", code=BAD_INPUT) from error


def _ended(job: JobView, output: str) -> JobView:
    """A followed job's stdout is its log; only an explicit document is added to it."""
    if output != "name":
        _print_job(job, output)
    return job


def _print_job(job: JobView, output: str) -> None:
    if output == "name":
        click.echo(job.name)
    else:
        print_document(job.raw, output)
