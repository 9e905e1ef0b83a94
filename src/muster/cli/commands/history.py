"""`muster history`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from muster.cli.commands.history_runs import best, compare, curves, export, plot, run_conditions
from muster.cli.failures import Failure, reading_options
from muster.cli.run_tables import Cells, cell_columns
from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.ages import ago
from muster.cli.tables.colours import state_colour
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.tables.text_tables import Column
from muster.cli.terminal import echo
from muster.client.errors import FORBIDDEN, NOT_FOUND, MusterError
from muster.client.views import instant

if TYPE_CHECKING:
    from muster.api.experiments import RunOut
    from muster.client.client import Client

_PAGE = 50
_OF_LOG_SERVER = ("SERVER", "RECEIVER")


@dataclass(frozen=True, slots=True)
class _Item:
    raw: Mapping[str, Any]


@click.group()
def command() -> None:
    """Look at past jobs, also of other servers and of jobs that were deleted, as the log server keeps them.

    \b
    Examples:
      muster history list --all
      muster history show mnist
      muster history compare mnist-1 mnist-2
      muster history best --metric acc --by lr
    """


for _command in (compare, best, curves, plot, export):
    command.add_command(_command)


@command.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Jobs of all servers that use the same log server.")
@click.option("--owner", metavar="USER", help="Only jobs of this user; you need to be an admin for others than `me`.")
@click.option("--cluster", metavar="NAME", help="Only jobs on this cluster.")
@click.option("--state", metavar="STATE", help="Only jobs in this state, such as Failed.")
@click.option("--text", metavar="TEXT", help="Only jobs whose name or id contains this text.")
@click.option("--since", metavar="TIME", help="Only jobs submitted since this time, or within this period: 7d.")
@click.option("--until", metavar="TIME", help="Only jobs submitted before this time.")
@run_conditions
@click.option("--limit", type=click.IntRange(1), default=_PAGE, show_default=True, help="The largest number to list.")
@output_option()
def list_(
    everywhere: bool,
    owner: str | None,
    cluster: str | None,
    state: str | None,
    text: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    output: str,
    **conditions: Any,
) -> None:
    """List past and present jobs, newest first, as the log server knows them.

    Without --all, only jobs of this server are listed: also without a log server, except for those that were deleted.
    You see the jobs that were submitted under your name; admins see all. What --sweep, --label, --param and --having
    ask for, only this server knows, of its own jobs.

    \b
    Examples:
      muster history list
      muster history list --param 'lr<0.1' --having 'acc>=0.9'
      muster history list --all --state Failed --since 7d
      muster history list --all -o json | jq '.items[] | {name, params, state}'
    """
    given = {"owner": owner, "cluster": cluster, "state": state, "text": text, "since": since, "until": until}
    is_search = any(conditions.values())
    items: Sequence[Mapping[str, Any]]
    if is_search and everywhere:
        raise click.UsageError("--all goes without --sweep, --label, --param and --having")
    with reading_options():
        if is_search:
            found = connect().runs({**given, **conditions, "limit": limit})
            items, is_cut = found["items"], not found["complete"]
        else:
            items, is_cut = _read(connect(), {**given, "all": "true" if everywhere else None}, limit)
    columns = [column for column in _columns() if not (is_search and column.title in _OF_LOG_SERVER)]
    print_list([_Item(one) for one in items], columns, output)
    if not items:
        say("no jobs")
    elif is_cut and output not in ("json", "yaml"):
        say(f"Showing the {limit} newest; use --limit N for more")


@command.command()
@click.argument("job", metavar="JOB")
@click.option("--receiver", metavar="ID", help="The server, if several have a job of this name or id.")
@output_option("table", "json", "yaml")
def show(job: str, receiver: str | None, output: str) -> None:
    """Show what the log server knows of one job: its config, its tracking URL, and all that happened to it.

    Without a log server, it is what this server knows of one of its own jobs. While this server has the job, it also
    says which commit it ran, in what, what it reported and what it cost.

    JOB is an id, an unambiguous prefix of one, the name of the newest job of that name, on any server, or @last.

    \b
    Examples:
      muster history show mnist
      muster history show 1m7qcvcncxzqyp6r -o json | jq .records[0].config
    """
    client = connect()
    found = _find(client, job, receiver)
    whole = client.history_job(found["receiver"], found["id"])
    run = _run(client, found["id"])
    if output != "table":
        print_document({**whole, "run": run}, output)
        return
    _print_job(whole["job"], whole["records"], run or {})


def _read(client: "Client", query: Mapping[str, str | None], limit: int) -> tuple[list[Mapping[str, Any]], bool]:
    items: list[Mapping[str, Any]] = []
    cursor: str | None = None
    while True:
        page = client.history({**query, "cursor": cursor, "limit": str(min(limit - len(items), 1000))})
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None or len(items) >= limit:
            return items, cursor is not None


def _read_anywhere(
    client: "Client", query: Mapping[str, str | None], limit: int
) -> tuple[list[Mapping[str, Any]], bool]:
    """Reads jobs of all servers, or of this one alone if it has no log server."""
    try:
        return _read(client, {**query, "all": "true"}, limit)
    except MusterError as error:
        if error.code != NOT_FOUND:
            raise
        return _read(client, query, limit)


def _find(client: "Client", job: str, receiver: str | None) -> Mapping[str, Any]:
    if job == "@last":
        found, _ = _read_anywhere(client, {"owner": "me"}, 1)
        if not found:
            raise Failure("the history has no job of yours", hint="see `muster history list`")
        return found[0]
    found, _ = _read_anywhere(client, {"text": job}, 1000)
    found = [one for one in found if receiver in (None, one["receiver"])]
    exact = [one for one in found if job in (one["id"], one.get("name"))]
    exact = exact or [one for one in found if one["id"].startswith(job)]
    if len({one["id"] for one in exact if one.get("name") != job}) > 1:
        raise Failure(f"several ids begin with {job}", hint="give more of it")
    if not exact:
        raise Failure(f"the history has no job {job}", hint="see `muster history list`")
    by_id = [one for one in exact if one["id"] == job]
    if len(by_id) > 1:
        raise Failure(f"several servers have a job {job}", hint=f"add --receiver, such as {by_id[0]['receiver']}")
    return (by_id or exact)[0]


def _run(client: "Client", job_id: str) -> "RunOut | None":
    """The job as an experiment, if this server has it: the log server knows no metrics."""
    try:
        return client.runs({"job": [job_id]})["items"][0]
    except MusterError as error:
        if error.code not in (NOT_FOUND, FORBIDDEN):
            raise
        return None


def _columns() -> list[Column[_Item]]:
    now = datetime.now(UTC)
    return [
        Column("NAME", lambda one: one.raw.get("name")),
        Column("ID", lambda one: one.raw["id"]),
        Column("SERVER", lambda one: str(one.raw.get("server") or one.raw["receiver"]).partition("://")[2]),
        Column("RECEIVER", lambda one: one.raw["receiver"], wide=True),
        Column("OWNER", lambda one: one.raw.get("owner")),
        Column("CLUSTER", lambda one: one.raw.get("vc") or one.raw.get("cluster")),
        Column("STATE", lambda one: one.raw.get("state"), colour=state_colour),
        Column("SUBMITTED", lambda one: ago(instant(one.raw.get("submittedAt")), now)),
        Column("ENDED", lambda one: ago(instant(one.raw.get("endedAt")), now)),
        Column("PARAMS", lambda one: _pairs(one.raw.get("params"))),
        Column("TRACKING URL", lambda one: one.raw.get("trackingUrl"), wide=True),
        Column("REASON", lambda one: one.raw.get("reason"), wide=True),
    ]


def _print_job(job: Mapping[str, Any], records: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> None:
    fault, used = job.get("fault") or {}, job.get("used") or {}
    print_pairs(
        [
            ("Name", job.get("name")),
            ("Id", job["id"]),
            ("Server", job.get("server")),
            ("Receiver", job["receiver"]),
            ("Owner", job.get("owner")),
            ("Cluster", job.get("vc") or job.get("cluster")),
            ("State", job.get("state")),
            ("Reason", job.get("reason")),
            ("Fault", fault.get("kind")),
            ("Tracking URL", job.get("trackingUrl")),
            ("Params", _pairs(run.get("params") or job.get("params"))),
            ("Tags", _pairs(run.get("tags"))),
            ("Package", job.get("package")),
            ("Commit", run.get("commit")),
            ("Environment", _pairs(run.get("environment") or _environment(job, records))),
            ("Submitted", job.get("submittedAt")),
            ("Started", job.get("startedAt")),
            ("Ended", job.get("endedAt")),
            ("GPU hours", job.get("gpuHours")),
            ("Cost", run.get("cost")),
            ("Used", _pairs({name: value for name, value in used.items() if value is not None})),
        ]
    )
    if run.get("metrics"):
        echo("\nMetrics:")
        names = ["NAME", "LAST", "STEP", "LOWEST", "HIGHEST", "POINTS"]
        kinds = ("last", "lastStep", "lowest", "highest", "count")
        lines = [[name, *(found[kind] for kind in kinds)] for name, found in sorted(run["metrics"].items())]
        print_list([Cells(line) for line in lines], cell_columns(names), "wide")
    echo("\nRecords:")
    for record in records:
        task = record.get("task")
        task = task if isinstance(task, Mapping) else {}
        about = f"{task.get('name')} on {task.get('node')}" if task else record.get("reason") or ""
        echo(f"  {record['at']}  {record['kind']:<16}  {about}".rstrip())


def _environment(job: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What it ran in, as its config says it."""
    config: Mapping[str, Any] = next((record["config"] for record in records if record.get("config")), {})
    runtime = config.get("runtime") or {}
    found = {name: runtime.get(name) for name in ("image", "conda", "venv")} | {"framework": job.get("framework")}
    return {name: value for name, value in found.items() if value and value != "plain"}


def _pairs(values: Mapping[str, Any] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in (values or {}).items())
