"""`muster bump`, `move` and `change`, which change what a waiting job asks for."""

import click

from muster.cli.bulk_actions import act_on_jobs
from muster.cli.key_values import parse_assignments
from muster.cli.shared_options import complete_destinations, open_jobs_argument, output_option

_PRIORITIES = ("low", "normal", "high", "urgent")


@click.command()
@open_jobs_argument
@click.option(
    "--priority", type=click.Choice(_PRIORITIES), default="urgent", show_default=True, help="The new priority."
)
@output_option("name", "json", "yaml", default="name")
def bump(jobs: tuple[str, ...], priority: str, output: str) -> None:
    """Change the priority of waiting jobs, within the limits of their virtual cluster. Admins may set any priority.

    A job of higher priority may preempt running jobs: they are stopped, return to the queue and lose what they have
    not saved. A retry of the job keeps its new priority.

    \b
    Examples:
      muster bump mnist
      muster bump sweep-1 sweep-2 --priority low
    """
    act_on_jobs(jobs, lambda handle: handle.bump(priority), output)


@click.command()
@open_jobs_argument
@click.option(
    "--to",
    "destination",
    required=True,
    metavar="VC",
    help="A virtual or physical cluster.",
    shell_complete=complete_destinations,
)
@output_option("name", "json", "yaml", default="name")
def move(jobs: tuple[str, ...], destination: str, output: str) -> None:
    """Move waiting jobs to another virtual cluster. The same rules apply as for a submission there.

    \b
    Example:
      muster move mnist --to vision
    """
    act_on_jobs(jobs, lambda handle: handle.move(destination), output)


@click.command()
@open_jobs_argument
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="A key and its new value: resources.gpu=2; repeatable."
)
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter's new value: lr=0.5; repeatable."
)
@output_option("name", "json", "yaml", default="name")
def change(jobs: tuple[str, ...], sets: tuple[str, ...], params: tuple[str, ...], output: str) -> None:
    """Change the spec of jobs that wait or are held. A change that is not valid is refused with all its mistakes.

    For a job with several roles, name the role: roles.worker.resources.gpu=2. Commands and variables that use a
    parameter get its new value. To change a running job, hold it first; to run an ended one again, use `muster retry`.

    \b
    Examples:
      muster change mnist --set resources.gpu=2
      muster change mnist --param lr=0.5
      muster change bert --set roles.worker.replicas=4 --set timeLimit=2h
    """
    if not sets and not params:
        raise click.UsageError("say what to change, such as --set resources.gpu=2 or --param lr=0.5")
    changes, given = parse_assignments(sets, "--set"), parse_assignments(params, "--param")
    act_on_jobs(jobs, lambda handle: handle.change(changes, params=given), output)
