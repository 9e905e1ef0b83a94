"""`muster submit`.

What only some of its options need is imported where it is used: the command mostly sends one file and ends.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from muster.cli.key_values import parse_assignments
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import complete_destinations, output_option
from muster.cli.submitted_jobs import say_submitted, say_tracking_url
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.errors import BAD_INPUT, MusterError
from muster.client.job_files import JobFile, jobs_in
from muster.client.submitting import Changes, Submission, read_text
from muster.lib.script_texts import is_script

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.handles import JobHandle
    from muster.client.views import JobView

_ARGUMENTS = "muster.script-arguments"


class _WithArguments(click.Command):
    """Leaves what follows FILE and `--` to the script. Without a file before it, `--` only ends the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else 0
        if any(word == "-" or Path(word).is_file() for word in args[:place]):
            ctx.meta[_ARGUMENTS] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)


@click.command(cls=_WithArguments)
@click.argument("files", metavar="FILE|-...", nargs=-1, required=True, type=click.Path(dir_okay=False, allow_dash=True))
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
    files: tuple[str, ...],
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
    """Submit job files (YAML or JSON), or `-` for standard input.

    Job files of other systems are taken as they are: batch scripts of Slurm, SkyPilot tasks and others. `muster import`
    shows what they become.

    The `package:` folder is packed and uploaded first if the server does not have it; .gitignore and .musterignore name
    the files to leave out. All mistakes in the file are reported at once, with their lines.

    Several files, and several YAML documents in a file, are submitted together: all or none. They may name each other
    in `after`, in any order. --set, --param, --cluster and --hold apply to each of them.

    A file with `sweep:` makes many jobs, which differ in their params; `muster sweep` shows them together.

    What follows `--` are the arguments of a batch script.

    \b
    Examples:
      muster submit job.yaml
      muster submit job.yaml --set roles.worker.replicas=4 --param lr=0.01 --follow
      muster submit job.yaml --dry-run
      muster submit train.sbatch --follow
      muster submit train.sbatch -- large.yaml 3
      muster submit prep.yaml train.yaml sweep/*.yaml --wait
      sed s/small/large/ job.yaml | muster submit - --name large --wait
      muster submit job.yaml -o json | jq -r .id
    """
    overrides: dict[str, Any] = parse_assignments(sets, "--set")
    for key, value in (("name", name), ("cluster", cluster), ("hold", True if hold else None)):
        if value is not None:
            overrides[key] = value
    _refuse_repeated(files)
    given = [_read(file) for file in files]
    arguments = click.get_current_context().meta.get(_ARGUMENTS)
    if arguments is not None:
        if not all(is_script(file.text) for file in given):
            raise click.UsageError("what follows -- are the arguments of a batch script")
        overrides["env.SCRIPT_ARGUMENTS"] = shlex.join(arguments)
    found = jobs_in(given, Changes(overrides, _params(params)))
    for warning in found.warnings:
        say_warning(warning)
    client = connect()
    if len(found.submissions) > 1:
        if name is not None:
            raise click.UsageError(f"--name is for one job, and there are {len(found.submissions)}")
        _submit_all(client, found.submissions, dry_run=dry_run, wait=wait, followed=followed, output=output)
        return
    submission = replace(found.submissions[0], file="")
    if submission.is_sweep:
        from muster.cli.submitted_sweeps import submit_sweep

        submit_sweep(client, submission, dry_run=dry_run, wait=wait, followed=followed, output=output)
        return
    if dry_run:
        from muster.cli.dry_run import print_dry_run

        print_dry_run(client.dry_run(submission), output)
        return
    with upload_progress() as progress:
        handle = client.send(submission, progress=progress, announce=announce_packing)
    say_submitted(handle)
    say_tracking_url(handle)
    if followed or wait:
        _exit_when_ended(handle, output, followed=followed)
    _print_job(handle.view, output)
    say(f"  muster logs -f {handle.name}    follow its output")
    say(f"  muster explain {handle.name}    why it waits, or why it failed")


def _submit_all(
    client: "Client", submissions: Sequence[Submission], *, dry_run: bool, wait: bool, followed: bool, output: str
) -> None:
    from muster.cli.job_following import exit_with_outcome
    from muster.cli.job_sets import follow_all, print_jobs, wait_for_all
    from muster.client.views import JobView

    if dry_run:
        print_jobs([JobView.of(job) for job in client.dry_run_all(submissions)], output)
        say("Dry run: nothing was started")
        return
    with upload_progress() as progress:
        handles = client.send_all(submissions, progress=progress, announce=announce_packing)
    for handle in handles:
        say(f"submitted job {handle.name} ({handle.id})")
        say_tracking_url(handle)
    if followed or wait:
        ended = follow_all(handles) if followed else wait_for_all(handles)
        if output != "name":
            print_jobs(ended, output)
        exit_with_outcome(*ended)
    print_jobs([handle.view for handle in handles], output)
    say(f"  muster wait {' '.join(handle.name for handle in handles)}    wait for them")


def _params(given: Sequence[str]) -> dict[str, Any]:
    return parse_assignments(given, "--param")


def _refuse_repeated(files: Sequence[str]) -> None:
    for file in files:
        if files.count(file) > 1:
            raise click.UsageError(f"{'- (standard input)' if file == '-' else file} can be given once")


def _read(file: str) -> JobFile:
    if file != "-":
        if not Path(file).expanduser().exists():
            raise click.BadParameter(f"there is no file {file}", param_hint="FILE")
        return JobFile(file, read_text(Path(file)), Path(file).expanduser().parent)
    if sys.stdin.isatty():
        say("reading the job from standard input; end it with Ctrl-D")
    try:
        return JobFile("standard input", sys.stdin.read(), Path.cwd())
    except UnicodeDecodeError as error:
        raise MusterError("standard input is not text", code=BAD_INPUT) from error


def _exit_when_ended(handle: "JobHandle", output: str, *, followed: bool) -> NoReturn:
    """The stdout of a followed job is its log, so a document is printed only if `-o` asks for it."""
    from muster.cli.job_following import exit_with_outcome, follow, wait_quietly

    if not followed:
        say(f"  muster logs -f {handle.name}    follow its output")
    ended = follow(handle) if followed else wait_quietly(handle)
    if output != "name":
        _print_job(ended, output)
    exit_with_outcome(ended)


def _print_job(job: "JobView", output: str) -> None:
    if output == "name":
        echo(job.name)
        return
    from muster.cli.tables.output import print_document

    print_document(job.raw, output)
