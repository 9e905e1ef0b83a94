"""`muster events`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import complete_jobs, output_option
from muster.cli.tables.columns import event_columns, event_text
from muster.cli.tables.output import print_document, print_list
from muster.cli.terminal import echo
from muster.client.views import EventView

_NEWEST = 50


@click.command()
@click.argument("job", required=False, shell_complete=complete_jobs)
@click.option("-f", "--follow", "followed", is_flag=True, help="Keep printing new events.")
@click.option("--kind", metavar="PREFIX", help="Only events of this kind: job, task.failed, audit.")
@click.option("--after", type=int, metavar="SEQ", help="Only events after this number.")
@click.option(
    "-n",
    "--tail",
    type=click.IntRange(min=1),
    help=f"Only the last N events [{_NEWEST} if no job is given].",
)
@output_option()
def command(
    job: str | None, followed: bool, kind: str | None, after: int | None, tail: int | None, output: str
) -> None:
    """Show events, oldest first: state changes of jobs and workers, and an audit of who did what.

    \b
    Examples:
      muster events mnist
      muster events -f
      muster events --kind audit -o json
    """
    client = connect()
    handle = client.job(job) if job else None
    if followed:
        stream = handle.events(follow=True, after=after) if handle else None
        for event in stream or client.events(follow=True, after=after, kind=kind):
            if _wanted(event, kind):
                _print_one(event, output)
        return
    if handle is None and after is None and kind is None:
        tail = tail or _NEWEST
        after = max(client.last_event() - tail, 0)  # so that the whole history is not read for its last page
    found = handle.events(after=after) if handle else client.events(after=after, kind=kind)
    events = [event for event in found if _wanted(event, kind)]
    print_list(events[-tail:] if tail else events, event_columns(), output, name="kind")


def _wanted(event: EventView, kind: str | None) -> bool:
    return kind is None or event.kind == kind or event.kind.startswith(kind)


def _print_one(event: EventView, output: str) -> None:
    if output in ("json", "yaml"):
        print_document(event.raw, output)
    elif output == "name":
        echo(event.kind)
    else:
        at = event.at.astimezone().strftime("%H:%M:%S") if event.at else "-"
        subject = event.data.get("name") or event.job_id or event.actor or "-"
        echo(f"{at}  {event.kind:<16}  {subject}  {event_text(event)}".rstrip())
