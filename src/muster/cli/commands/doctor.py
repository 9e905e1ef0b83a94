"""`muster doctor`."""

import click

from muster.cli.health_checks import Finding, examine
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo

_MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@click.command()
@output_option("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, output: str) -> None:
    """Check this machine, the connection to the server, and its nodes. The exit code is 1 if something must be fixed.

    \b
    Examples:
      muster doctor
      muster doctor -o json | jq '.items[] | select(.status != "ok")'
    """
    chosen = ctx.find_root().params
    findings = examine(chosen.get("server"), chosen.get("context"))
    if output == "table":
        echo("\n".join(line for finding in findings for line in _lines(finding)))
    else:
        print_document({"items": [finding.as_dict() for finding in findings]}, output)
    if any(finding.status == "fail" for finding in findings):
        raise click.exceptions.Exit(1)


def _lines(finding: Finding) -> list[str]:
    text, colour = _MARKS[finding.status]
    lines = [f"{click.style(text, fg=colour)}  {finding.name}: {finding.message}"]
    if finding.mend:
        lines.append(f"        {finding.mend}")
    return lines
