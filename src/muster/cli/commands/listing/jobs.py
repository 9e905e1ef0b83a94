"""`muster get jobs`."""

from typing import Any

import click

from muster.cli.failures import reading_options
from muster.cli.session import connect, say
from muster.cli.shared_options import (
    complete_clusters,
    complete_jobs,
    complete_sweeps,
    complete_virtual_clusters,
    output_option,
)
from muster.cli.tables.columns import job_columns, other_job_columns
from muster.cli.tables.output import print_list
from muster.cli.terminal import echo
from muster.cli.watching import watch
from muster.client.client import Client
from muster.client.views import JobView

_PAGE = 50


@click.command()
@click.argument("names", metavar="[JOB]...", nargs=-1, shell_complete=complete_jobs)
@click.option(
    "--state", multiple=True, metavar="STATE", help="Only jobs in these states; repeatable, or separated by commas."
)
@click.option("--owner", metavar="USER", help="Only jobs of this user.")
@click.option("--mine", is_flag=True, help="Only your jobs.")
@click.option("--cluster", metavar="NAME", help="Only jobs on this cluster.", shell_complete=complete_clusters)
@click.option(
    "--vc", metavar="NAME", help="Only jobs in this virtual cluster.", shell_complete=complete_virtual_clusters
)
@click.option("-l", "--label", multiple=True, metavar="K=V", help="Only jobs with this label; repeatable.")
@click.option("--text", metavar="TEXT", help="Only jobs that contain this text.")
@click.option("--since", metavar="TIME", help="Only jobs since this time, or within this period: 2026-01-31, 7d, 2h.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=_PAGE, show_default=True, help="The largest number of jobs to list."
)
@click.option("--all", "all_", is_flag=True, help="List all jobs, however many there are.")
@click.option("--others", is_flag=True, help="Only jobs that were not made with Muster, such as with kubectl.")
@click.option("--sweep", metavar="NAME", help="Only members of this sweep.", shell_complete=complete_sweeps)
@click.option("--members", is_flag=True, help="Also list the members of sweeps.")
@click.option("-w", "--watch", "watched", is_flag=True, help="Keep the table on the screen and update it.")
@output_option()
def command(
    names: tuple[str, ...],
    state: tuple[str, ...],
    owner: str | None,
    mine: bool,
    cluster: str | None,
    vc: str | None,
    label: tuple[str, ...],
    text: str | None,
    since: str | None,
    limit: int,
    all_: bool,
    others: bool,
    sweep: str | None,
    members: bool,
    watched: bool,
    output: str,
) -> None:
    """List jobs, newest first, or the jobs with these names.

    SUCC, FAIL and ACTIVE count the workers that succeeded, failed or still run. -o wide also shows how long jobs
    waited, how busy their GPUs were, and their peak memory. If the file of a cluster says so, jobs that were made there
    without Muster are listed below, to be seen only. With -o json they need --others.

    Members of sweeps are left out, since there may be thousands: see `muster sweep list`, or use --sweep or --members.

    \b
    Examples:
      muster get jobs
      muster get jobs --mine --state Running --watch
      muster get jobs --since 7d --label team=ads -o wide
      muster get jobs --all -o json
      muster get jobs --others --owner research
      muster get jobs mnist @last -o wide
      muster get jobs --sweep lr-search --state Failed
      muster ps --mine
    """
    if mine and owner:
        raise click.UsageError("--mine and --owner cannot be used together")
    if names and (others or any([state, owner, mine, cluster, vc, label, text, since, sweep])):
        raise click.UsageError("names of jobs and filters cannot be used together")
    client = connect()
    filters: dict[str, Any] = {
        "state": [word for item in state for word in item.split(",") if word],
        "owner": "me" if mine else owner,
        "cluster": cluster,
        "vc": vc,
        "label": label,
        "text": text,
        "since": since,
    }
    with reading_options():
        chosen = {"sweep": client.sweep(sweep).id} if sweep else {"members": "all" if members else "none"}

    most = None if all_ else limit
    columns = other_job_columns if others else job_columns

    def fetch() -> list[JobView]:
        if names:
            return [client.job(name).view for name in names]
        return _others(client, most, filters) if others else list(client.jobs(limit=most, **filters, **chosen))

    if watched:
        with reading_options():
            watch(client, fetch, columns, output)
        return
    with reading_options():
        jobs = fetch()
    print_list(jobs, columns(jobs), output)
    if names:
        return
    if not others and output in ("table", "wide"):
        _print_others(_others(client, most, filters), output)
    if not others and not sweep and not members and output in ("table", "wide"):
        _say_left_out(client, filters)
    if not jobs:
        say("no jobs")
    elif not all_ and len(jobs) == limit and output not in ("json", "yaml"):
        say(f"Showing the {limit} newest; use --limit N or --all for more")


def _say_left_out(client: Client, filters: dict[str, Any]) -> None:
    if count := client.count_jobs(**filters, members="only"):
        jobs = "1 job is a member of a sweep and is" if count == 1 else f"{count} jobs are members of sweeps and are"
        say(f"{jobs} not listed: see `muster sweep list`, or use --members")


def _others(client: Client, limit: int | None, filters: dict[str, Any]) -> list[JobView]:
    """Jobs that were not made with Muster. An older server knows no origins, and answers its own jobs."""
    return [job for job in client.jobs(limit=limit, origin="others", **filters) if job.origin != "muster"]


def _print_others(jobs: list[JobView], output: str) -> None:
    if jobs:
        echo("\nNot made with Muster:")
        print_list(jobs, other_job_columns(jobs), output)
