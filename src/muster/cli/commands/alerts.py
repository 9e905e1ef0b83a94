"""`muster alerts`: alerts that rules have found, silences, and the check of a file of rules."""

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document, print_list, table_lines
from muster.cli.tables.text_tables import Column
from muster.cli.terminal import echo
from muster.client.alert_views import RuleAlertView, SilenceView
from muster.client.client import Client
from muster.client.errors import MusterError


def _told(one: RuleAlertView) -> str:
    if one.raw.get("told"):
        return "yes"
    return one.untold or (f"held until {_moment(one.held_until)}" if one.held_until else "no")


_ALERT_COLUMNS: list[Column[RuleAlertView]] = [
    Column("RULE", lambda one: one.rule),
    Column("SEVERITY", lambda one: one.severity),
    Column("ABOUT", lambda one: one.subject),
    Column("CLUSTER", lambda one: one.cluster, wide=True),
    Column("STATE", lambda one: "silenced" if one.is_silenced else one.state),
    Column("SINCE", lambda one: _moment(one.since)),
    Column("TOLD", _told, wide=True),
    Column("DONE", lambda one: "; ".join(one.raw.get("done") or ()) or "-", wide=True),
    Column("MESSAGE", lambda one: one.message),
]
_SILENCE_COLUMNS: list[Column[SilenceView]] = [
    Column("ID", lambda one: one.id),
    Column("RULE", lambda one: one.rule),
    Column("ABOUT", lambda one: one.subject),
    Column("UNTIL", lambda one: _moment(one.until)),
    Column("BY", lambda one: one.by),
    Column("REASON", lambda one: one.reason),
]


@click.group(cls=Group)
def command() -> None:
    """List alerts that rules have found, silence them, and check a file of rules.

    The rules are in alerts.yaml in the home folder of the server; without it, the default rules hold. Admins see all
    alerts, users those of their own jobs. See docs/guides/alerts.md.

    \b
    Examples:
      muster alerts list
      muster alerts history --days 30
      muster alerts silence --rule NodeNotReady --about gpu07 --for 2h --reason "new disk"
      muster alerts check alerts.yaml
    """


@command.command("list")
@click.option("--pending", is_flag=True, help="Also list alerts that have not lasted long enough yet.")
@output_option("table", "wide", "json", "yaml", "name")
def list_alerts(pending: bool, output: str) -> None:
    """List the alerts that fire now.

    \b
    Examples:
      muster alerts list
      muster alerts list --pending -o wide
      muster alerts list -o json
    """
    client = connect()
    found = client.rule_alerts(pending=pending)
    if output not in ("table", "wide"):
        print_list(found, _ALERT_COLUMNS, output, name="id")
        return
    if found:
        print_list(found, _ALERT_COLUMNS, output, name="id")
    else:
        say("no alert fires")
    for line in _silences_of(client, found):
        say(line)
    for problem in _file_problems(client):
        say_warning(f"{problem}; the rules of before hold")


@command.command()
@click.option("--days", type=click.FloatRange(0.01, 90), default=7.0, show_default=True, help="How far to look back.")
@click.option("--rule", metavar="NAME", help="Only alerts of this rule.")
@click.option("--limit", type=click.IntRange(1, 1000), default=200, show_default=True, help="How many at most.")
@output_option("table", "wide", "json", "yaml", "name")
def history(days: float, rule: str | None, limit: int, output: str) -> None:
    """List the alerts that fired lately, the newest first. They are kept for 90 days.

    \b
    Examples:
      muster alerts history
      muster alerts history --days 30 --rule NodeNotReady -o json
    """
    since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    print_list(connect().alert_history(since=since, rule=rule, limit=limit), _ALERT_COLUMNS, output, name="id")


@command.command()
@click.option("--rule", default="*", metavar="NAME", help="The rule, with * for any characters.")
@click.option("--about", default="*", metavar="NAME", help="The node, GPU, cluster or job, or CLUSTER/NAME, with *.")
@click.option("--for", "duration", metavar="DURATION", help="How long: 30m, 2h, 3d.")
@click.option("--reason", default="", metavar="TEXT", help="Why, for colleagues.")
@click.option("--list", "shows", is_flag=True, help="List the silences instead.")
@output_option("table", "json", "yaml", "name")
def silence(rule: str, about: str, duration: str | None, reason: str, shows: bool, output: str) -> None:
    """Tell nobody of alerts that match for a while, and do nothing about them. Admins only.

    What still fires at the end of the silence is told then.

    \b
    Examples:
      muster alerts silence --rule NodeNotReady --about 'gpu0*' --for 2h --reason "new switch"
      muster alerts silence --list
    """
    client = connect()
    if shows:
        print_list(client.silences(), _SILENCE_COLUMNS, output, name="id")
        return
    if duration is None:
        raise click.UsageError("Missing option '--for'.")
    if rule == about == "*":
        raise click.UsageError("say which alerts: --rule NAME, --about NAME or both")
    made = client.silence_alerts(rule, about, duration=duration, reason=reason)
    if output in ("json", "yaml"):
        print_document(made.raw, output)
    elif output == "name":
        echo(made.id)
    else:
        echo("\n".join(table_lines([made], _SILENCE_COLUMNS, output)))


@command.command()
@click.argument("silences", metavar="ID...", nargs=-1, required=True)
def unsilence(silences: tuple[str, ...]) -> None:
    """End silences. Admins only.

    \b
    Example:
      muster alerts unsilence 01hzy3k2m4n5p6q7
    """
    client = connect()
    for one in silences:
        client.unsilence_alerts(one)
        say(f"ended silence {one}")


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="The output format.")
def check(file: str, output: str) -> None:
    """Check a file of rules, and show the rules that it leads to. The exit code is 2 if something is wrong.

    It needs no server. All problems are told at once, each with its line.

    \b
    Examples:
      muster alerts check alerts.yaml
      muster alerts check alerts.yaml -o json
    """
    sys.stdout.flush()
    words = [str(Path(file)), *(["--json"] if output == "json" else [])]
    os.execv(  # noqa: S606 - an argument list, no shell
        sys.executable, [sys.executable, "-m", "muster.bootstrap.alert_check", *words]
    )


def _file_problems(client: Client) -> list[str]:
    """Only admins may know them."""
    try:
        return client.alert_file_problems()
    except MusterError:
        return []


def _silences_of(client: Client, found: Sequence[RuleAlertView]) -> Iterator[str]:
    """Only admins may know who has silenced what."""
    silenced = {one.raw["silencedBy"] for one in found if one.is_silenced}
    if not silenced:
        return
    try:
        silences = client.silences()
    except MusterError:
        return
    for one in silences:
        if one.id in silenced:
            why = f": {one.reason}" if one.reason else ""
            yield f"silence {one.id} of {one.rule} until {_moment(one.until)} by {one.by}{why}"


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M")
