"""`muster paddlecloud`, with the commands and the tables of the paddlecloud client."""

import click

from muster.cli.lazy_group import Entry, LazyGroup
from muster.cli.terminal import echo

_JOBS, _FILES, _IMAGES, _HELP = "Jobs", "Files", "Images", "Help"


def _entry(module: str, help_text: str, section: str, attribute: str) -> Entry:
    return Entry(f"muster.cli.paddlecloud.{module}", help_text, section, attribute)


ENTRIES = {
    "submit": _entry("submitting", "Submit a job.", _JOBS, "submit"),
    "get": _entry("listing", "List jobs, the workers of a job, your quota, or your registries.", _JOBS, "get"),
    "logs": _entry("running_jobs", "Print the last lines of the logs of a job's workers.", _JOBS, "logs"),
    "kill": _entry("running_jobs", "Stop a job.", _JOBS, "kill"),
    "file": _entry("files", "Upload, download and list files.", _FILES, "file"),
    "ls": _entry("files", "List files.", _FILES, "ls"),
    "cp": _entry("files", "Copy files to a datacenter, or from there.", _FILES, "cp"),
    "rm": _entry("files", "Remove files.", _FILES, "rm"),
    "mkdir": _entry("files", "Create folders.", _FILES, "mkdir"),
    "registry": _entry("registries", "Store the login to a registry of images.", _IMAGES, "registry"),
    "delete": _entry("registries", "Delete the login to a registry.", _IMAGES, "delete"),
    "help": Entry(__name__, "Show this help, or that of a command.", _HELP, "help_"),
    "commands": Entry(__name__, "List the names of all commands.", _HELP, "commands"),
}


@click.group(cls=LazyGroup, entries=ENTRIES, aliases={"flags": "help"}, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """The commands of the paddlecloud client.

    The server and the login come from ~/.paddle/config: the datacenter with `active: true`, or the one that
    `current-datacenter` names. Without that file, and with --server, --context or MUSTER_SERVER, they are those of all
    other commands. Flags are written as in paddlecloud, with one dash.

    The exit code is 0 if all went well, 1 if something failed, and 2 for wrong usage.

    \b
    Examples:
      muster paddlecloud submit -jobname demo -parallelism 2 -entry "python train.py" ./src
      muster paddlecloud get jobs
      muster paddlecloud get workers demo
      muster paddlecloud logs demo
      muster paddlecloud kill demo
    """
    if ctx.invoked_subcommand is None:
        echo(ctx.get_help())


@click.command()
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of paddlecloud, or of one of its commands.

    \b
    Example:
      muster paddlecloud help submit
    """
    assert ctx.parent is not None
    shown, found = ctx.parent, ctx.parent.command
    for word in words:
        inner = found.get_command(shown, word) if isinstance(found, click.Group) else None
        if inner is None:
            raise click.UsageError(f"there is no command {' '.join(words)!r}")
        shown, found = click.Context(inner, info_name=word, parent=shown), inner
    echo(shown.get_help())


@click.command()
def commands() -> None:
    """List the names of all commands.

    \b
    Example:
      muster paddlecloud commands
    """
    for name in ENTRIES:
        echo(name)
