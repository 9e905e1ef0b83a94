"""`muster bump`, `move` and `change`, which change what a waiting job asks for."""

import click

from muster.cli.bulk_actions import act_on_jobs
from muster.cli.key_values import parse_assignments
from muster.cli.shared_options import complete_destinations, jobs_argument, output_option

_PRIORITIES = ("low", "normal", "high", "urgent")


@click.command()
@jobs_argument
@click.option(
    "--priority", type=click.Choice(_PRIORITIES), default="urgent", show_default=True, help="The new priority."
)
@output_option("name", "json", "yaml", default="name")
def bump(jobs: tuple[str, ...], priority: str, output: str) -> None:
    """Change the priority of waiting jobs, within the limits of their virtual cluster. Admins may set any priority.

    \b
    Examples:
      muster bump mnist
      muster bump sweep-1 sweep-2 --priority low
    """
    act_on_jobs(jobs, lambda handle: handle.bump(priority), output)


@click.command()
@jobs_argument
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
@jobs_argument
@click.option(
    "--set", "sets", multiple=True, required=True, metavar="KEY=VALUE", help="A key and its new value: resources.gpu=2."
)
@output_option("name", "json", "yaml", default="name")
def change(jobs: tuple[str, ...], sets: tuple[str, ...], output: str) -> None:
    """Change the spec of jobs that wait or are held. A change that is not valid is refused with all its mistakes.

    For a job with several roles, name the role: roles.worker.resources.gpu=2. To change a running job, hold it first.

    \b
    Examples:
      muster change mnist --set resources.gpu=2
      muster change bert --set roles.worker.replicas=4 --set timeLimit=2h
    """
    changes = parse_assignments(sets, "--set")
    act_on_jobs(jobs, lambda handle: handle.change(changes), output)
