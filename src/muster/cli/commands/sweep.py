"""`muster sweep`, which shows and stops many jobs as one."""

from collections.abc import Sequence
from pathlib import Path

import click

from muster.cli.failures import Failure, reading_options
from muster.cli.lazy_group import Group
from muster.cli.png_files import require_picture_name, save_picture
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_sweeps, output_option
from muster.cli.submitted_sweeps import ended_sweep, outcome_text
from muster.cli.sweep_metrics import reported_instead
from muster.cli.tables.output import print_document, print_list, table_lines
from muster.cli.tables.sweep_columns import member_columns, params_text, sweep_columns, value_text
from muster.cli.terminal import echo
from muster.cli.watching import watch_text
from muster.client.client import Client
from muster.client.sweep_views import MemberView, SweepView
from muster.pictures.sweep_picture import WIDTH, Member, SweepPicture

_PAGE = 50
_SWEEP = click.argument("sweep", metavar="SWEEP", shell_complete=complete_sweeps)


@click.group(cls=Group)
def command() -> None:
    """List, show, stop and retry sweeps. A sweep is one object with many jobs, its members, which
    differ in their params.

    `muster submit` makes one of a job file with `sweep:` in it. Members are jobs like any other: `muster logs`,
    `explain`, `kill` and `retry` take their names, such as lr-search-7.

    \b
    Examples:
      muster submit search.yaml
      muster sweep list
      muster sweep describe lr-search --watch
      muster sweep plot lr-search --picture search.svg
      muster sweep wait lr-search
      muster sweep stop lr-search
    """


@command.command("list")
@click.option("--mine", is_flag=True, help="Only your sweeps.")
@click.option("--owner", metavar="USER", help="Only sweeps of this user.")
@click.option("--open", "is_open", is_flag=True, help="Only sweeps that have not ended.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=_PAGE, show_default=True, help="The largest number to list."
)
@output_option()
def list_sweeps(mine: bool, owner: str | None, is_open: bool, limit: int, output: str) -> None:
    """List sweeps, newest first, with how many of their members succeeded, failed, run and wait.

    \b
    Examples:
      muster sweep list --mine --open
      muster sweep list -o json
    """
    if mine and owner:
        raise click.UsageError("--mine and --owner cannot be used together")
    filters = {"owner": "me" if mine else owner, "open": True if is_open else None}
    with reading_options():
        found = list(connect().sweeps(limit=limit, **filters))
    print_list(found, sweep_columns(found), output)
    if not found:
        say("no sweeps")
    elif len(found) == limit and output in ("table", "wide"):
        say(f"Showing the {limit} newest; use --limit N for more")


@command.command()
@_SWEEP
@click.option("--state", multiple=True, metavar="STATE", help="Only members in this state; repeatable.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=_PAGE, show_default=True, help="The largest number of members."
)
@click.option("--all", "all_", is_flag=True, help="Show all members, however many there are.")
@click.option("-w", "--watch", "watched", is_flag=True, help="Keep it on the screen and update it until it ends.")
@output_option("table", "wide", "json", "yaml")
def describe(sweep: str, state: tuple[str, ...], limit: int, all_: bool, watched: bool, output: str) -> None:
    """Show a sweep: its state, the best member so far, and its members with their params.

    Members are sorted by the sweep's metric, if it has one, with the best first, and by their numbers otherwise.

    \b
    Examples:
      muster sweep describe lr-search
      muster sweep describe lr-search --watch
      muster sweep describe lr-search --state Failed -o wide
      muster sweep describe lr-search --all -o json
    """
    client = connect()
    states = [word for item in state for word in item.split(",") if word]
    most = None if all_ else limit
    if output in ("json", "yaml"):
        if watched:
            raise click.UsageError("--watch is for tables")
        with reading_options():
            found = client.sweep(sweep)
            members = list(client.sweep_members(found.id, state=states, limit=most))
        print_document({**found.raw, "items": [one.raw for one in members]}, output)
        return
    with reading_options():
        first = client.sweep(sweep)
        text = _text(client, first, states, most, output)
    if not watched:
        echo(text)
        return
    newest = first

    def draw() -> str:
        nonlocal newest
        newest = client.sweep(first.id)
        return _text(client, newest, states, most, output)

    watch_text(client, draw, lambda: newest.ended)


@command.command()
@_SWEEP
@output_option("name", "json", "yaml", default="name")
def wait(sweep: str, output: str) -> None:
    """Wait until a sweep has ended. The exit code is 0 if it succeeded, else 1. Ctrl-C ends the command, not the sweep.

    \b
    Example:
      muster sweep wait lr-search && muster sweep describe lr-search
    """
    client = connect()
    ended = ended_sweep(client, client.sweep(sweep))
    _print(ended, output)
    raise click.exceptions.Exit(0 if ended.state == "Succeeded" else 1)


@command.command()
@_SWEEP
def retry(sweep: str) -> None:
    """Submit the failed members of a sweep again, each as a job of its own. The sweep's result stays as it is.

    \b
    Example:
      muster sweep retry lr-search
    """
    client = connect()
    found = client.sweep(sweep)
    failed = list(client.sweep_members(found.id, state=["Failed"]))
    for member in failed:
        again = client.job(member.job).retry()
        say(f"submitted job {again.name} again, as the new job {again.id}")
        echo(again.id)
    if not failed:
        say(f"no member of {found.name} has failed")


@command.command()
@_SWEEP
@output_option("name", "json", "yaml", default="name")
def stop(sweep: str, output: str) -> None:
    """Stop a sweep: no more members are made, and those that wait or run are stopped.

    Members that have ended stay as they are, with their logs and outputs.

    \b
    Example:
      muster sweep stop lr-search
    """
    stopped = connect().stop_sweep(sweep)
    say(f"stopped sweep {stopped.name}: {outcome_text(stopped)}")
    _print(stopped, output)


@command.command()
@_SWEEP
@click.option("--picture", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A .svg or .png.")
def plot(sweep: str, picture: Path) -> None:
    """Draw a sweep: the best value so far over time, the value of each member and over each param, and all members as
    parallel coordinates.

    \b
    Example:
      muster sweep plot lr-search --picture search.svg
    """
    require_picture_name(picture)
    client = connect()
    found = client.sweep(sweep)
    if not found.metric:
        hint = f"`muster history plot --sweep {found.name} --metric NAME` draws one; `metric` in the job file names it"
        raise Failure(f"sweep {found.name} has no metric", hint=hint)
    members = list(client.sweep_members(found.id, limit=None))
    if all(one.value is None or one.has_diverged for one in members):
        reported = reported_instead(client, found, members)
        hint = reported or f"see `muster sweep describe {found.name}`"
        raise Failure(
            f"no member of {found.name} has reported {found.metric} yet, or only values that are not finite", hint=hint
        )
    drawn = SweepPicture(
        found.name, found.metric, found.goal == "max", found.raw["params"], [_drawn(found, one) for one in members]
    )
    save_picture(picture, drawn.drawn(), WIDTH, drawn.height)


def _print(sweep: SweepView, output: str) -> None:
    if output == "name":
        echo(sweep.name)
    else:
        print_document(sweep.raw, output)


def _drawn(sweep: SweepView, member: MemberView) -> Member:
    after = member.ended_at - sweep.created_at if member.ended_at and sweep.created_at else None
    value = None if member.has_diverged else member.value
    return Member(member.member, member.params, value, after.total_seconds() if after else None)


def _text(client: Client, sweep: SweepView, states: Sequence[str], most: int | None, output: str) -> str:
    members = list(client.sweep_members(sweep.id, state=states, limit=None if sweep.metric else most))
    shown = _best_first(sweep, members)[:most]
    lines = _header(sweep)
    if not states and (reported := reported_instead(client, sweep, members)):
        lines += ["", f"Warning: no member has reported {sweep.metric}. {reported}"]
    if shown:
        lines += ["", *table_lines(shown, member_columns(sweep.raw["params"], sweep.metric), output)]
    listed = sweep.made if not states else len(members)
    if most is not None and len(shown) == most and listed > most:
        lines += ["", f"Showing {most} members; use --limit N or --all for more"]
    return "\n".join(lines)


def _header(sweep: SweepView) -> list[str]:
    raw = sweep.raw
    goal = f"{sweep.metric}, the {'largest' if sweep.goal == 'max' else 'smallest'} is best" if sweep.metric else ""
    pairs = [
        ("Sweep", sweep.name),
        ("Id", sweep.id),
        ("Owner", sweep.owner),
        ("State", sweep.state),
        ("Members", f"{sweep.members}: {outcome_text(sweep)}"),
        ("Waits", raw.get("waitsFor")),
        ("Params", ", ".join(raw.get("params") or ())),
        ("Seed", raw.get("seed")),
        ("Metric", goal),
        ("Best", _best_text(sweep)),
        ("Stopped by", raw.get("stoppedBy")),
    ]
    kept = [(name, value) for name, value in pairs if value not in (None, "")]
    width = max(len(name) for name, _ in kept) + 1
    return [f"{name + ':':<{width}}  {value}" for name, value in kept]


def _best_text(sweep: SweepView) -> str:
    best = sweep.best
    if best is None:
        return ""
    return f"{best['name']} with {value_text(best['value'])} at step {best['step']} ({params_text(best['params'])})"


def _best_first(sweep: SweepView, members: list[MemberView]) -> list[MemberView]:
    if not sweep.metric:
        return members
    sign = -1.0 if sweep.goal == "max" else 1.0
    return sorted(members, key=lambda one: (one.has_diverged, one.value is None, sign * (one.value or 0.0), one.member))
