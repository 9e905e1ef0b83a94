"""`muster submit`."""

import sys
from pathlib import Path
from typing import Any

import click

from muster.cli.dry_run import print_dry_run
from muster.cli.job_following import exit_with_outcome, follow, wait_quietly
from muster.cli.key_values import parse_assignments
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_destinations, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.errors import BAD_INPUT, MusterError
from muster.client.submitting import Changes, Submission, from_text, prepare
from muster.client.views import JobView


@click.command()
@click.argument("file", metavar="FILE|-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the spec: roles.worker.replicas=4; repeatable.",
)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Set a parameter: lr=0.01; repeatable.")
@click.option("-n", "--name", help="Another name for the job.")
@click.option(
    "--cluster", metavar="NAME", help="The cluster or virtual cluster to run on.", shell_complete=complete_destinations
)
@click.option("--hold", is_flag=True, help="Submit the job as held; it does not start until `muster resume`.")
@click.option("--dry-run", is_flag=True, help="Check the job and show what would be started, but start nothing.")
@click.option("--wait", is_flag=True, help="Wait for the job to end. The exit code is 0 if it succeeded, else 1.")
@click.option(
    "-f", "--follow", "followed", is_flag=True, help="Follow the logs until the job ends, then exit like --wait."
)
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

    The `package:` folder is packed and uploaded first if the server does not have it; .gitignore and .musterignore name
    the files to leave out. All mistakes in the file are reported at once, with their lines.

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
        print_dry_run(client.dry_run(submission), output)
        return
    with upload_progress() as progress:
        handle = client.send(submission, progress=progress, announce=announce_packing)
    say(f"submitted job {handle.name} ({handle.id})")
    if followed:
        exit_with_outcome(_ended(follow(handle), output))
    if wait:
        say(f"  muster logs -f {handle.name}    follow its output")
        exit_with_outcome(_ended(wait_quietly(handle), output))
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
        raise MusterError("standard input is not text", code=BAD_INPUT) from error


def _ended(job: JobView, output: str) -> JobView:
    """The stdout of a followed job is its log, so a document is printed only if `-o` asks for it."""
    if output != "name":
        _print_job(job, output)
    return job


def _print_job(job: JobView, output: str) -> None:
    if output == "name":
        echo(job.name)
    else:
        print_document(job.raw, output)
