"""`muster bump`, `move` and `change`: what a job asks for, while it waits."""

import click

from muster.cli.assignments import parse_assignments
from muster.cli.batch import act_on_jobs
from muster.cli.options import jobs_argument, output_option

_PRIORITIES = ("low", "normal", "high", "urgent")


@click.command()
@jobs_argument
@click.option("--priority", type=click.Choice(_PRIORITIES), default="urgent", show_default=True, help="The new one.")
@output_option("name", "json", "yaml", default="name")
def bump(jobs: tuple[str, ...], priority: str, output: str) -> None:
    """Give jobs that wait another priority, as far as their virtual cluster allows; admins may give any.

    \b
    Examples:
      muster bump mnist
      muster bump sweep-1 sweep-2 --priority low
    """
    act_on_jobs(jobs, lambda handle: handle.bump(priority), output)


@click.command()
@jobs_argument
@click.option("--to", "destination", required=True, metavar="VC", help="A cluster, virtual or physical.")
@output_option("name", "json", "yaml", default="name")
def move(jobs: tuple[str, ...], destination: str, output: str) -> None:
    """Move jobs that wait to another virtual cluster, by the rules of a submission there.

    \b
    Example:
      muster move mnist --to vision
    """
    act_on_jobs(jobs, lambda handle: handle.move(destination), output)


@click.command()
@jobs_argument
@click.option(
    "--set", "sets", multiple=True, required=True, metavar="KEY=VALUE", help="The new value: resources.gpu=2."
)
@output_option("name", "json", "yaml", default="name")
def change(jobs: tuple[str, ...], sets: tuple[str, ...], output: str) -> None:
    """Change what jobs ask for, while they wait or are held. What is wrong with the change is told at once.

    A job of several roles needs the role too: roles.worker.resources.gpu=2. To change one that runs, hold it first.

    \b
    Examples:
      muster change mnist --set resources.gpu=2
      muster change bert --set roles.worker.replicas=4 --set timeLimit=2h
    """
    changes = parse_assignments(sets, "--set")
    act_on_jobs(jobs, lambda handle: handle.change(changes), output)
