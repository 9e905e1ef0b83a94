"""`muster template`, which shares job folders."""

import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import click

from muster.cli.commands.submit import command as submit
from muster.cli.failures import Failure
from muster.cli.key_values import parse_assignments
from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_templates, output_option
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.tables.text_tables import Column, render
from muster.cli.templates.catalogue import JOB_FILE
from muster.cli.templates.params import Param, params_of, with_params
from muster.cli.templates.reading import files_at
from muster.cli.templates.writing import write_files
from muster.cli.terminal import echo
from muster.client.template_views import TemplateView

_REF = re.compile(r"([^@]+)(?:@(\d+))?")
_TEMPLATE = click.argument("ref", metavar="NAME[@VERSION]", shell_complete=complete_templates)
_PARAM = click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="Another value for a parameter: lr=0.01; repeatable."
)


@click.group(cls=Group)
def command() -> None:
    """Share job folders as templates, with a group or with everybody, and use those of others.

    Each publication is a new version. `muster init` has the templates that are built in.

    \b
    Examples:
      muster template publish finetune ./finetune --group vision --description "Fine-tune on our data"
      muster template list
      muster template use finetune --param lr=0.01 my-run
    """


@command.command()
@click.argument("name", shell_complete=complete_templates)
@click.argument("path", metavar="FILE|DIR", type=click.Path(exists=True, path_type=Path))
@click.option("--description", default="", metavar="TEXT", help="What it is for, in one sentence.")
@click.option("--group", default="", metavar="GROUP", help="Let the members of this group of yours use it.")
@click.option("--everyone", is_flag=True, help="Let everybody use it.")
@output_option("name", "json", "yaml", default="name")
def publish(name: str, path: Path, description: str, group: str, everyone: bool, output: str) -> None:
    """Publish a job file, or a folder with a job.yaml, as a template, or as a new version of it.

    Without --group and --everyone, only you and admins can use it. The job file is checked, and what looks like a
    secret is refused: use `secrets` in the job file instead. What .gitignore and .musterignore name is left out.

    \b
    Examples:
      muster template publish finetune ./finetune --group vision
      muster template publish nightly job.yaml --everyone --description "The nightly evaluation"
    """
    if group and everyone:
        raise click.UsageError("--group and --everyone cannot be used together")
    made = connect().publish_template(name, files_at(path), description=description, group=group, everyone=everyone)
    say(f"published {made.name}@{made.version} for {made.audience}")
    if output == "name":
        echo(f"{made.name}@{made.version}")
    else:
        print_document(made.raw, output)


@command.command("list")
@output_option("table", "wide", "json", "yaml", "name")
def list_templates(output: str) -> None:
    """List the templates that you may use, in their newest versions.

    \b
    Example:
      muster template list -o json
    """
    columns: list[Column[TemplateView]] = [
        Column("NAME", lambda one: one.name),
        Column("VERSION", lambda one: one.version, right=True),
        Column("AUTHOR", lambda one: one.author),
        Column("FOR", lambda one: one.audience),
        Column("PUBLISHED", lambda one: one.created_at.strftime("%Y-%m-%d") if one.created_at else ""),
        Column("BYTES", lambda one: one.size_bytes, wide=True, right=True),
        Column("DESCRIPTION", lambda one: one.description),
    ]
    print_list(connect().templates(), columns, output)


@command.command()
@_TEMPLATE
@click.option("--file", "path", metavar="PATH", help="Print this file of it instead: job.yaml.")
@output_option("table", "json", "yaml")
def show(ref: str, path: str | None, output: str) -> None:
    """Show a template: who published it, its parameters with their default values, and its files.

    \b
    Examples:
      muster template show finetune
      muster template show finetune@2 --file job.yaml
    """
    found = _find(ref)
    if path is not None:
        if path not in found.files:
            raise Failure(f"{ref} has no file {path}", hint=f"it has {', '.join(found.files)}")
        echo(found.files[path], nl=False)
        return
    params = params_of(found.files[JOB_FILE])
    if output != "table":
        print_document({**found.raw, "params": [_param(one) for one in params]}, output)
        return
    print_pairs(
        [
            ("Name", found.name),
            ("Version", found.version),
            ("Author", found.author),
            ("For", found.audience),
            ("Published", found.raw.get("createdAt")),
            ("Description", found.description),
            ("Files", ", ".join(found.files)),
        ]
    )
    if params:
        echo("\nParams:")
        columns: list[Column[Param]] = [
            Column("NAME", lambda one: one.name),
            Column("DEFAULT", lambda one: one.value),
            Column("DESCRIPTION", lambda one: one.description),
        ]
        echo("\n".join(f"  {line}" for line in render(columns, params)))


@command.command()
@_TEMPLATE
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
@_PARAM
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("--submit", "submitted", is_flag=True, help="Submit the job, and write no files.")
@click.option("-f", "--follow", "followed", is_flag=True, help="With --submit, follow the logs until the job ends.")
@output_option("name", "json", "yaml", default="name")
@click.pass_context
def use(
    ctx: click.Context,
    ref: str,
    folder: Path | None,
    params: tuple[str, ...],
    force: bool,
    submitted: bool,
    followed: bool,
    output: str,
) -> None:
    """Write the files of a template to DIR, or to a folder with its name; or submit its job.

    Look at a template before you run it: it is the code of somebody else, and runs as you.

    \b
    Examples:
      muster template use finetune my-run
      muster template use finetune@2 --param lr=0.01 my-run
      muster template use finetune --param lr=0.01 --submit --follow
    """
    if followed and not submitted:
        raise click.UsageError("--follow is for --submit")
    found = _find(ref)
    if submitted:
        with tempfile.TemporaryDirectory(prefix="muster-template-") as place:
            write_files(found.files, Path(place), force=False)
            files = (str(Path(place) / JOB_FILE),)
            ctx.invoke(submit, files=files, params=params, followed=followed, output=output)
        return
    text = with_params(found.files[JOB_FILE], parse_assignments(params, "--param"))
    target = folder or Path(found.name)
    written = write_files({**found.files, JOB_FILE: text}, target, force=force)
    job_file = target / JOB_FILE
    say(f"wrote {', '.join(str(path) for path in written)}")
    say(f"  muster submit {shlex.quote(str(job_file))} --follow    run it")
    if output == "name":
        echo(job_file)
    else:
        made = {"template": found.name, "version": found.version, "files": [str(path) for path in written]}
        print_document(made, output)


@command.command()
@click.argument("name", shell_complete=complete_templates)
def delete(name: str) -> None:
    """Delete a template of yours with all its versions. Jobs that were made from it stay as they are.

    \b
    Example:
      muster template delete finetune
    """
    connect().remove_template(name)
    say(f"deleted template {name}")


def _find(ref: str) -> TemplateView:
    parsed = _REF.fullmatch(ref)
    if parsed is None:
        raise click.UsageError(f"{ref!r} is neither NAME nor NAME@VERSION, such as finetune@2")
    return connect().template(parsed[1], int(parsed[2]) if parsed[2] else None)


def _param(param: Param) -> dict[str, Any]:
    return {"name": param.name, "default": param.value, "description": param.description}
