"""The root command. Kept small: it is imported by every call, and by every completion of a shell."""

import os
from typing import Any

import click

from muster.cli.failures import retell
from muster.cli.lazy import Entry, LazyGroup
from muster.version import __version__


def _entry(module: str, help_text: str, section: str, attribute: str = "command") -> Entry:
    return Entry(f"muster.cli.commands.{module}", help_text, section, attribute)


RUN, LOOK, CHANGE = "Run jobs", "Look at jobs", "Change jobs"
MACHINES, SERVER, ACCESS = "Machines", "Server", "Access"

ENTRIES = {
    "run": _entry("run", "Run a command as a job and follow it; needs no file.", RUN),
    "submit": _entry("submit", "Submit a job file.", RUN),
    "wait": _entry("wait", "Wait until jobs have ended; exit 0 if all succeeded.", RUN),
    "get": _entry("get", "List jobs, workers, nodes, clusters, quotas, users or tokens.", LOOK),
    "describe": _entry("describe", "Show everything about a job or a node.", LOOK),
    "explain": _entry("explain", "Say why a job waits, or why it failed.", LOOK),
    "logs": _entry("logs", "Print or follow the logs of a job's workers.", LOOK),
    "outputs": _entry("outputs", "List or download what a job's tasks left.", LOOK),
    "events": _entry("events", "Show what happened, to one job or to all.", LOOK),
    "checkpoint-done": _entry("checkpoint_done", "Say inside a task that its work is safe.", RUN),
    "kill": _entry("acting", "Stop jobs (also: cancel, stop).", CHANGE, "kill"),
    "retry": _entry("acting", "Submit ended jobs again.", CHANGE, "retry"),
    "hold": _entry("acting", "Keep jobs from running until resumed.", CHANGE, "hold"),
    "resume": _entry("acting", "Let held jobs start.", CHANGE, "resume"),
    "bump": _entry("changing", "Give waiting jobs another priority.", CHANGE, "bump"),
    "move": _entry("changing", "Move waiting jobs to another virtual cluster.", CHANGE, "move"),
    "change": _entry("changing", "Change what waiting jobs ask for.", CHANGE, "change"),
    "delete": _entry("delete", "Forget ended jobs, with their logs and history.", CHANGE),
    "top": _entry("top", "Show what nodes and tasks use right now.", MACHINES),
    "node": _entry("node", "Look at nodes, add and remove them.", MACHINES),
    "cluster": _entry("cluster", "Check the files that clusters are written in.", MACHINES),
    "env": _entry("env", "List and test the environments that clusters offer.", MACHINES),
    "fs": _entry("fs", "Look at the files of a cluster, bring files there and back.", MACHINES),
    "vc": _entry("vc", "Look at virtual clusters and their shares.", MACHINES),
    "sim": _entry("sim", "Replay jobs in virtual time, and compare policies.", MACHINES),
    "doctor": _entry("doctor", "Check this machine and say how to mend it.", MACHINES),
    "up": _entry("serving", "Start Muster on this machine.", SERVER, "up"),
    "server": _entry("serving", "Start a server with all its settings.", SERVER, "server"),
    "schema": _entry("schema", "Print the JSON Schema of the job file.", SERVER),
    "version": _entry("version", "Print the versions of command and server.", SERVER),
    "login": _entry("login", "Log in to a server and remember it.", ACCESS),
    "logout": _entry("logout", "Give the token back and forget it.", ACCESS),
    "whoami": _entry("whoami", "Show who you are, and where.", ACCESS),
    "context": _entry("context", "List, choose and remove known servers.", ACCESS),
    "users": _entry("users", "Add, change and remove users.", ACCESS),
    "tokens": _entry("tokens", "Make and revoke tokens for programs.", ACCESS),
    "completion": _entry("completion", "Print the completion script of a shell.", ACCESS),
}


class Muster(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("", err=True)
            raise click.exceptions.Exit(130) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            retell(error)


@click.command(
    cls=Muster,
    entries=ENTRIES,
    aliases={"cancel": "kill", "stop": "kill"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`muster COMMAND --help` teaches each command with examples.",
)
@click.option("--server", metavar="URL", help="The server to talk to (MUSTER_SERVER).")
@click.option("--context", metavar="NAME", help="A known server (`muster context list`).")
@click.option("--no-color", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.version_option(__version__, prog_name="muster")
@click.pass_context
def cli(ctx: click.Context, server: str | None, context: str | None, no_color: bool) -> None:
    """Muster: one front door to every machine that can train a model.

    \b
    Start here:
      muster up                                    start Muster on this machine
      muster run --workers 2 -- python train.py    run a distributed job, no file needed
      muster get jobs                              see it
      muster logs -f @last                         follow its output
      muster explain @last                         why it waits, or why it failed
    """
    ctx.obj = {"server": server, "context": context}
    if no_color or os.environ.get("NO_COLOR"):
        ctx.color = False


def main() -> None:
    cli(prog_name="muster")
