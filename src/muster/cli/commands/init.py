"""`muster init`."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from muster.cli.session import say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.tables.text_tables import Column, render
from muster.cli.templates.catalogue import DEFAULT, JOB_FILE, built_in_files
from muster.cli.templates.writing import write_files
from muster.cli.terminal import echo
from muster.templates.catalogue import DESCRIPTIONS


def _complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text) for name, text in DESCRIPTIONS.items() if name.startswith(incomplete)]


@click.command()
@click.argument("template", default=DEFAULT, shell_complete=_complete)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--list", "listed", is_flag=True, help="List the templates, and write nothing.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@output_option("name", "json", "yaml", default="name")
def command(template: str, folder: Path, listed: bool, force: bool, output: str) -> None:
    """Write a job file and a small training program from a built-in template, to start with.

    The files are written to DIR, or to the current folder. They run as they are where the framework is installed; the
    template `single`, which is the default, needs nothing but Python. `muster template` has the templates of your
    colleagues.

    \b
    Examples:
      muster init && muster submit job.yaml --follow
      muster init torch-ddp mnist
      muster init --list
    """
    if listed:
        _print_list(output)
        return
    written = write_files(built_in_files(template), folder, force=force)
    job_file = folder / JOB_FILE
    say(f"wrote {', '.join(str(path) for path in written)}")
    say(f"  muster submit {shlex.quote(str(job_file))} --follow    run it")
    if output == "name":
        echo(job_file)
    else:
        print_document({"template": template, "files": [str(path) for path in written]}, output)


def _print_list(output: str) -> None:
    if output == "name":
        columns: Sequence[Column[tuple[str, str]]] = (
            Column("NAME", lambda item: item[0]),
            Column("DESCRIPTION", lambda item: item[1]),
        )
        echo("\n".join(render(columns, list(DESCRIPTIONS.items()))))
        return
    print_document({"items": [{"name": name, "description": text} for name, text in DESCRIPTIONS.items()]}, output)
