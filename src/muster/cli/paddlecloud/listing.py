"""`get jobs|workers|quota|registry`."""

from collections.abc import Iterator

import click

from muster.cli.lazy_group import Group
from muster.cli.paddlecloud.registries import registries
from muster.cli.paddlecloud.session import open_session
from muster.cli.paddlecloud.tables import Cell, print_table, utc
from muster.cli.paddlecloud.workers import phase, trainers, worker_name
from muster.client.client import Client
from muster.client.cluster_views import QuotaView
from muster.client.handles import JobHandle
from muster.client.views import JobView

_PS = "PS"
_MOST = 200
"""How many jobs are looked at, because the tasks of some of them are asked for one by one."""


@click.group(cls=Group)
def get() -> None:
    """List jobs, the workers of a job, your quota, or your registries.

    \b
    Examples:
      muster paddlecloud get jobs
      muster paddlecloud get workers paddle-cluster-job
    """


@get.command()
@click.option("-a", "-all", "every", is_flag=True, help="Accepted, without effect: all jobs are listed.")
def jobs(every: bool) -> None:
    """List your jobs, the newest first. Jobs that were killed are not listed once they have stopped, and of several
    jobs with one name only the newest is.

    \b
    Example:
      muster paddlecloud get jobs
    """
    client = open_session().client
    newest: dict[str, JobView] = {}
    for job in client.jobs(owner="me", limit=_MOST):
        newest.setdefault(job.name, job)
    listed = [job for job in newest.values() if job.state != "Cancelled"]
    print_table(
        ("NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE"),
        ((number, *_job_row(client, job)) for number, job in enumerate(listed)),
    )


@get.command()
@click.argument("job")
def workers(job: str) -> None:
    """List the trainers of a job.

    \b
    Example:
      muster paddlecloud get workers paddle-cluster-job
    """
    handle = open_session().client.job(job)
    rows = ((worker_name(handle.name, task), phase(task), utc(task.started_at)) for task in trainers(handle.tasks()))
    print_table(("NAME", "STATUS", "START"), rows)


@get.command()
def quota() -> None:
    """List your limits.

    \b
    Example:
      muster paddlecloud get quota
    """
    session = open_session()
    print_table(("RESOURCE", "LIMIT"), _quota_rows(session.client.quotas()))


@get.command()
def registry() -> None:
    """List the registries whose login is stored.

    \b
    Example:
      muster paddlecloud get registry
    """
    session = open_session()
    print_table(
        ("ID", "NAME", "DATA"),
        ((number, name, utc(made)) for number, (name, made) in enumerate(registries(session.client, session.user))),
    )


def _job_row(client: Client, job: JobView) -> tuple[Cell, ...]:
    """The counts are those of the trainers, because parameter servers are no part of the original's job object. It has
    no count where Muster has 0, and no time of completion for a job that failed."""
    succeeded, failed, active = job.succeeded, job.failed, job.active
    if job.mode == _PS:
        phases = [phase(task) for task in trainers(JobHandle(client.transport, job).tasks())]
        succeeded, failed = phases.count("Succeeded"), phases.count("Failed")
        active = phases.count("Running") + phases.count("Pending")
    completed = job.ended_at if job.state == "Succeeded" else None
    return job.name, succeeded or None, failed or None, utc(job.started_at), utc(completed), active or None


def _quota_rows(quotas: list[QuotaView]) -> Iterator[tuple[Cell, ...]]:
    for one in quotas:
        yield f"{one.vc}/{one.kind}" if one.vc else one.kind, f"{one.limit:.15g}"
