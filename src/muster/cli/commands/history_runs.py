"""`muster history compare`, `best`, `curves`, `plot` and `export`: jobs of this server as experiments."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from muster.cli.failures import Failure, reading_options
from muster.cli.png_files import require_picture_name, save_picture
from muster.cli.run_tables import Cells, cell_columns, compared, flattened, known_names, plotted, write_parquet
from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.csv_texts import csv_text
from muster.cli.tables.output import print_document, print_list
from muster.cli.tables.sweep_columns import params_text
from muster.cli.terminal import echo
from muster.lib.counting import counted
from muster.pictures import parallel
from muster.pictures.curves import HEIGHT, WIDTH, draw_curves

Command = TypeVar("Command", bound=Callable[..., Any])
_MOST = "20000"
_DRAWN, _PRINTED = 1000, 10_000
"""The most points of a curve."""


def run_conditions(command: Command) -> Command:
    """What only the server knows that has the jobs."""
    return _with(
        command,
        click.option("--sweep", metavar="SWEEP", help="Only members of this sweep."),
        click.option("-l", "--label", metavar="K=V", multiple=True, help="Only jobs with this label; repeatable."),
        click.option("--param", metavar="COND", multiple=True, help="Only jobs with such a parameter: lr<0.1."),
        click.option("--having", metavar="COND", multiple=True, help="Only jobs with such a last value: acc>0.9."),
    )


def _filters(command: Command) -> Command:
    return _with(
        run_conditions(command),
        click.option("--owner", metavar="USER", help="Only jobs of this user; you need to be an admin for others."),
        click.option("--cluster", metavar="NAME", help="Only jobs on this cluster."),
        click.option("--state", metavar="STATE", help="Only jobs in this state, such as Succeeded."),
        click.option("--text", metavar="TEXT", help="Only jobs whose name, owner or id contains this text."),
        click.option("--since", metavar="TIME", help="Only jobs submitted since this time, or within: 7d."),
        click.option("--until", metavar="TIME", help="Only jobs submitted before this time."),
    )


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@output_option("table", "json", "yaml", "csv")
def compare(jobs: Sequence[str], output: str) -> None:
    """Compare jobs of this server: parameters and variables that differ, metrics, use and outcome.

    Each line is a property and each column a job. A metric is shown with its last value.

    \b
    Examples:
      muster history compare net-1 net-2
      muster history compare net-1 net-2 net-3 -o csv
    """
    items = connect().runs({"job": list(jobs)})["items"]
    if output in ("json", "yaml"):
        print_document({"items": items}, output)
        return
    names, lines = compared(items)
    if output == "csv":
        echo(csv_text(["", *names], lines), nl=False)
        return
    print_list([Cells(line) for line in lines], cell_columns(["", *names]), "wide")


@click.command()
@click.option("--metric", required=True, metavar="NAME", help="The metric that counts.")
@click.option("--by", metavar="PARAM", help="Show the best job for each value of this parameter.")
@click.option("--min", "is_min", is_flag=True, help="The lowest value is the best, as of a loss.")
@click.option("--last", "is_last", is_flag=True, help="The last value of a job counts, and not its best.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most lines.")
@_filters
@output_option("table", "json", "yaml")
def best(metric: str, by: str | None, is_min: bool, is_last: bool, limit: int, output: str, **filters: Any) -> None:
    """Rank the jobs of this server by a metric, the best first.

    With --by, each line is a value of the parameter, with its best job, and the mean of its jobs.

    \b
    Examples:
      muster history best --metric acc
      muster history best --metric acc --by lr
      muster history best --metric loss --min --since 7d --param 'optimizer=adam'
    """
    goal, use = "min" if is_min else "max", "last" if is_last else "best"
    query = {"metric": metric, "by": by, "goal": goal, "use": use, "limit": limit, **filters}
    with reading_options():
        found = connect().best_runs(query)
    if output != "table":
        print_document(found, output)
        return
    if not found["items"]:
        say(f"no job has reported {metric}")
        return
    if by:
        titles = [by.upper(), metric.upper(), "MEAN", "RUNS", "JOB", "ID", "STATE"]
        lines = [[one["group"], one["value"], one["mean"], one["runs"], *_named(one["best"])] for one in found["items"]]
    else:
        titles = [metric.upper(), "JOB", "ID", "STATE", "PARAMS"]
        lines = [[one["value"], *_named(one["best"]), params_text(one["best"]["params"])] for one in found["items"]]
    print_list([Cells(line) for line in lines], cell_columns(titles), "wide")


@click.command()
@click.argument("metric", metavar="METRIC")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="A .svg or .png.")
@click.option("-o", "--output", type=click.Choice(("csv", "json")), help="Print the points instead.")
def curves(metric: str, jobs: Sequence[str], picture: Path | None, output: str | None) -> None:
    """Draw the curves of a metric of one or more jobs into a picture, or print their points.

    Each point is a line with its job, step, time and value.

    \b
    Examples:
      muster history curves loss net-1 net-2 --picture loss.svg
      muster history curves loss net-1 net-2 -o csv > loss.csv
    """
    if (picture is None) == (output is None):
        raise click.UsageError("give either --picture or --output")
    if picture is not None:
        require_picture_name(picture)
    client = connect()
    most = _DRAWN if output is None else _PRINTED
    found = [(job, client.metrics(job, {"name": [metric], "points": most})) for job in jobs]
    if not any(curve["points"] for _, one in found for curve in one["metrics"]):
        raise Failure(f"none of these jobs has reported {metric}", hint="see `muster history compare`")
    if picture is not None:
        save_picture(picture, draw_curves(metric, [(job, _points(one)) for job, one in found]), WIDTH, HEIGHT)
        return
    if any(curve["count"] > len(curve["points"]) for _, one in found for curve in one["metrics"]):
        say(f"of each curve {_PRINTED} points are shown, evenly chosen")
    points = [(job, one["id"], point) for job, one in found for curve in one["metrics"] for point in curve["points"]]
    if output == "json":
        items = [{"job": job, "id": job_id, **point} for job, job_id, point in points]
        print_document({"metric": metric, "items": items}, output)
        return
    lines = [[job, job_id, point["step"], point["at"], point["value"]] for job, job_id, point in points]
    echo(csv_text(["job", "id", "step", "at", metric], lines), nl=False)


@click.command()
@click.argument("jobs", nargs=-1, metavar="[JOB...]")
@click.option("--metric", "metrics", multiple=True, required=True, metavar="NAME", help="An axis; repeatable.")
@click.option("--axis", "params", multiple=True, metavar="PARAM", help="A parameter as an axis; by default all.")
@click.option("--min", "is_min", is_flag=True, help="The lowest value of a job counts, as of a loss.")
@click.option("--last", "is_last", is_flag=True, help="The last value of a job counts, and not its best.")
@click.option("--limit", type=click.IntRange(1, 2000), default=200, show_default=True, help="The most jobs.")
@click.option("--picture", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A .svg or .png.")
@_filters
def plot(
    jobs: Sequence[str],
    metrics: Sequence[str],
    params: Sequence[str],
    is_min: bool,
    is_last: bool,
    limit: int,
    picture: Path,
    **filters: Any,
) -> None:
    """Draw jobs as parallel coordinates: an axis for each parameter and metric, and a line for each job.

    Without JOB, all jobs that match are drawn. Parameters that are the same in all of them are left out, unless you
    name them. Lines have the colour of their place on the last axis.

    \b
    Examples:
      muster history plot --metric acc --since 7d --picture runs.svg
      muster history plot --metric loss --min --sweep lr-search --axis lr --axis batch --picture search.png
    """
    require_picture_name(picture)
    with reading_options():
        found = connect().runs({**filters, "job": list(jobs), "limit": limit})
    runs = [run for run in found["items"] if any(name in run["metrics"] for name in metrics)]
    if not runs:
        hint = "see `muster history compare`" if jobs else "see `muster history best`"
        raise Failure(f"none of these jobs has reported {' or '.join(metrics)}", hint=hint)
    _require_known("--axis", params, known_names(runs, "params"))
    _require_known("--metric", metrics, known_names(runs, "metrics"))
    columns = plotted(runs, params, metrics, "last" if is_last else "lowest" if is_min else "highest")
    title = f"{counted(len(runs), 'job')}: {', '.join(name for name, _ in columns)}"
    save_picture(picture, parallel.draw_parallel(title, columns), parallel.WIDTH, parallel.HEIGHT)
    if left_out := len(found["items"]) - len(runs):
        say(f"jobs that have not reported {' or '.join(metrics)}, and are not in it: {left_out}")
    if not found["complete"]:
        say(f"only the newest {limit} jobs are in it; use --limit N for more")


def _require_known(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"none of these jobs has {name!r}; they have: {', '.join(known) or 'none'}", param_hint=repr(option)
            )


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@_filters
def export(file: Path, **filters: Any) -> None:
    """Save jobs of this server as a table: one line each, with parameters, last and best values, use and outcome.

    The name of FILE ends in .csv, .json or .parquet. Parquet needs pyarrow.

    \b
    Examples:
      muster history export runs.csv
      muster history export runs.parquet --since 30d --state Succeeded
    """
    if file.suffix not in (".csv", ".json", ".parquet"):
        raise click.UsageError(f"{file}: expected a name that ends in .csv, .json or .parquet")
    with reading_options():
        found = connect().runs({**filters, "limit": _MOST, "environment": "true"})
    titles, lines = flattened(found["items"])
    if file.suffix == ".parquet":
        write_parquet(file, titles, lines)
    elif file.suffix == ".json":
        file.write_text(json.dumps(found["items"], indent=2, ensure_ascii=False), encoding="utf-8")
    else:
        file.write_text(csv_text(titles, lines), encoding="utf-8")
    say(f"saved {counted(len(lines), 'job')} to {file}")
    if not found["complete"]:
        say(f"only the newest {len(lines)} are in it; narrow them with --since")


def _points(found: Mapping[str, Any]) -> list[tuple[float, float]]:
    """A value that is not finite has no place in a picture; it is a text here."""
    points = [point for metric in found["metrics"] for point in metric["points"]]
    return [(point["step"], point["value"]) for point in points if not isinstance(point["value"], str)]


def _named(run: Mapping[str, Any]) -> list[Any]:
    return [run["name"], run["id"], run["state"]]
