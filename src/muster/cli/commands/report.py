"""`muster report`."""

from pathlib import Path

import click

from muster.cli.failures import reading_options
from muster.cli.png_files import require_picture_name, save_picture
from muster.cli.session import connect, say
from muster.cli.tables.output import print_document
from muster.cli.tables.report_columns import report_csv, report_lines
from muster.cli.terminal import echo
from muster.pictures.report_picture import WIDTH, draw_report, height_of

_GROUPS = ("user", "vc", "node", "cluster")


@click.command()
@click.option(
    "--since",
    metavar="TIME",
    default="30d",
    show_default=True,
    help="The beginning of the report: a time, or how long ago.",
)
@click.option("--until", metavar="TIME", help="The end of the report: a time, or how long ago; now if absent.")
@click.option(
    "--by",
    type=click.Choice(_GROUPS),
    default="user",
    show_default=True,
    help="What each line of the report stands for.",
)
@click.option(
    "--idle-below",
    type=click.FloatRange(0, 100),
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="GPUs that were less busy than this on average count as idle.",
)
@click.option(
    "-o",
    "--output",
    default="table",
    show_default=True,
    metavar="table|json|yaml|csv|FILE.csv",
    help="The output format.",
)
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it, as .svg or .png.")
def command(since: str, until: str | None, by: str, idle_below: float, output: str, picture: Path | None) -> None:
    """Report what was used in a window of time: GPU and CPU hours, waits, failures and idle GPUs.

    GPU HOURS and CPU HOURS are what tasks had while they ran, GPU is how busy the GPUs were, and IDLE the hours of
    those that were hardly used. WAIT is the median time from submission to start. FAILED counts jobs by the kind of
    their fault. What is only partly within the window is cut to it. Admins see all jobs, others their own.

    \b
    Examples:
      muster report
      muster report --since 7d --by vc
      muster report --since 2026-01-01 --until 2026-02-01 --by node -o january.csv
      muster report --by cluster --picture report.svg
    """
    if output not in ("table", "json", "yaml", "csv") and not output.endswith(".csv"):
        raise click.UsageError(f"-o {output}: expected table, json, yaml, csv or a name that ends in .csv")
    if picture:
        require_picture_name(picture)
    with reading_options():
        report = connect().report(since=since, until=until, by=by, idle_below=idle_below)
    if output == "table":
        echo("\n".join(report_lines(report)))
        if report["onlyOwn"]:
            say("only your own jobs are counted")
    elif output == "csv":
        echo(report_csv(report), nl=False)
    elif output.endswith(".csv"):
        Path(output).write_text(report_csv(report), encoding="utf-8")
        say(f"saved the report to {output}")
    else:
        print_document(report, output)
    if picture:
        save_picture(picture, draw_report(report), WIDTH, height_of(report))
