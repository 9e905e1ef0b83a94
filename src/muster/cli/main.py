"""The root command. It must stay small, because every call and every shell completion imports it."""

import gc
import os
from typing import Any

import click

from muster.cli.failures import exit_with_error
from muster.cli.lazy_group import Entry, LazyGroup
from muster.cli.terminal import echo
from muster.version import __version__


def _entry(module: str, help_text: str, section: str, attribute: str = "command") -> Entry:
    return Entry(f"muster.cli.commands.{module}", help_text, section, attribute)


RUN, INSPECT, CHANGE = "Run jobs", "Inspect jobs", "Change jobs"
CLUSTERS, SERVER, ACCESS = "Nodes and clusters", "Server", "Access"

ENTRIES = {
    "run": _entry("run", "Run a command as a job and follow it.", RUN),
    "init": _entry("init", "Write a job folder from a template, to start with.", RUN),
    "submit": _entry("submit", "Submit a job file.", RUN),
    "import": _entry("import_", "Show what the files of another system become, and import them.", RUN),
    "template": _entry("template", "Share job folders as templates, and use those of others.", RUN),
    "sweep": _entry("sweep", "List, show, stop and retry sweeps, which are many jobs with other params.", RUN),
    "notebook": _entry("notebook", "Run Jupyter as a job, and print a link to it.", RUN),
    "wait": _entry("wait", "Wait until jobs have ended.", RUN),
    "cluster-train": _entry("cluster_train", "Train as `paddle cluster_train` did.", RUN),
    "cluster-kill": _entry("cluster_kill", "Stop a job, as `paddle cluster_kill` did.", CHANGE),
    "paddlecloud": _entry("paddlecloud", "The commands and tables of the paddlecloud client.", RUN),
    "get": _entry("get", "List jobs, workers, nodes, clusters, quotas, secrets, users or tokens.", INSPECT),
    "ps": _entry("listing.jobs", "List jobs (short for get jobs).", INSPECT),
    "queue": _entry("queue", "List running and waiting jobs in the order of their start.", INSPECT),
    "describe": _entry("describe", "Show everything about a job or a node.", INSPECT),
    "explain": _entry("explain", "Explain why a job waits, or why it failed.", INSPECT),
    "usage": _entry("usage", "Show what a job used, and advice.", INSPECT),
    "logs": _entry("logs", "Print or follow the logs of a job's workers.", INSPECT),
    "exec": _entry("task_exec", "Run a command in a running task.", INSPECT),
    "stacks": _entry("stacks", "Show where the processes of a job stand.", INSPECT),
    "attach": _entry("attach", "Attach to a running task, as `muster run -it` does.", INSPECT),
    "cp": _entry("cp", "Copy files out of a running task, or into it.", INSPECT),
    "shell": _entry("task_exec", "Open a shell in a running task.", INSPECT, "shell"),
    "port-forward": _entry("port_forward", "Reach a port of a running task from this machine.", INSPECT),
    "tensorboard": _entry("tensorboard", "Show TensorBoard over what a job writes.", INSPECT),
    "open": _entry("browser", "Open the web page, or a page that a job serves, in your browser.", INSPECT),
    "outputs": _entry("outputs", "List or download the output files of a job.", INSPECT),
    "model": _entry("model", "Keep outputs of jobs as models, in versions, and download them.", INSPECT),
    "events": _entry("events", "Show the events of one job or of all.", INSPECT),
    "history": _entry("history", "Look at past jobs, also of other servers.", INSPECT),
    "checkpoint-done": _entry("checkpoint_done", "Report a checkpoint from inside a task.", RUN),
    "tracking-url": _entry("tracking_url", "Set the address of a job from inside a task.", RUN),
    "kill": _entry("job_control", "Stop jobs (also: cancel, stop).", CHANGE, "kill"),
    "retry": _entry("job_control", "Submit jobs again.", CHANGE, "retry"),
    "hold": _entry("job_control", "Hold jobs until they are resumed.", CHANGE, "hold"),
    "resume": _entry("job_control", "Release held jobs.", CHANGE, "resume"),
    "bump": _entry("changing", "Change the priority of waiting jobs.", CHANGE, "bump"),
    "move": _entry("changing", "Move waiting jobs to another virtual cluster.", CHANGE, "move"),
    "change": _entry("changing", "Change the spec of waiting jobs.", CHANGE, "change"),
    "edit": _entry("edit", "Edit a job, to change it while it waits or to run it again.", CHANGE),
    "delete": _entry("delete", "Delete ended jobs, with their logs and history, or secrets.", CHANGE),
    "top": _entry("top", "Show what nodes, GPUs and tasks use right now.", CLUSTERS),
    "report": _entry("report", "Report GPU and CPU hours, waits and failures.", CLUSTERS),
    "node": _entry("node", "List, add, remove, cordon and drain nodes.", CLUSTERS),
    "cluster": _entry("cluster", "Check the files that describe clusters.", CLUSTERS),
    "env": _entry("env", "List and test the environments on clusters.", CLUSTERS),
    "alerts": _entry("alerts", "List and silence alerts, and check their rules.", CLUSTERS),
    "fs": _entry("fs", "List, copy, move and remove files on a cluster.", CLUSTERS),
    "vc": _entry("vc", "Show virtual clusters and their shares.", CLUSTERS),
    "sim": _entry("sim", "Replay jobs in virtual time, and compare policies.", CLUSTERS),
    "doctor": _entry("doctor", "Check this machine and the server, and say how to fix problems.", CLUSTERS),
    "up": _entry("serving", "Start Muster on this machine.", SERVER, "up"),
    "server": _entry("serving", "Start a server with all its settings.", SERVER, "server"),
    "receivers": _entry("receivers", "Deploy several servers on this machine, and keep them running.", SERVER),
    "logserver": _entry("logserver", "Collect the records of jobs from several servers.", SERVER),
    "operator": _entry("operator", "Run PaddleJobs on Kubernetes.", SERVER),
    "monitor": _entry("monitor", "Watch servers, and mail when one fails or recovers.", SERVER),
    "schema": _entry("schema", "Print the JSON Schema of job files.", SERVER),
    "version": _entry("version", "Print the versions of this command and of the server.", SERVER),
    "login": _entry("login", "Log in to a server.", ACCESS),
    "logout": _entry("logout", "Log out and revoke the token.", ACCESS),
    "whoami": _entry("whoami", "Show your user name and the server.", ACCESS),
    "context": _entry("contexts", "List, select and remove known servers.", ACCESS),
    "users": _entry("users", "Add, change and remove users.", ACCESS),
    "tokens": _entry("tokens", "Create and revoke tokens for programs.", ACCESS),
    "secret": _entry("secret", "Store secrets that jobs get by name.", ACCESS),
    "notices": _entry("notices", "Choose what you are told about your jobs, and how.", ACCESS),
    "completion": _entry("shell_completion", "Print the completion script of a shell.", ACCESS),
}


class Muster(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            echo("", err=True)
            raise click.exceptions.Exit(130) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            exit_with_error(error)


@click.command(
    cls=Muster,
    entries=ENTRIES,
    aliases={
        "cancel": "kill",
        "stop": "kill",
        "secrets": "secret",
        "templates": "template",
        "sweeps": "sweep",
        "models": "model",
        "cluster_train": "cluster-train",
        "cluster_kill": "cluster-kill",
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`muster COMMAND --help` explains each command with examples.",
)
@click.option("--server", metavar="URL", help="The URL of the server (MUSTER_SERVER).")
@click.option("--context", metavar="NAME", help="The name of a known server (`muster context list`).")
@click.option("--no-color", is_flag=True, help="Print without colours (NO_COLOR does the same).")
@click.version_option(__version__, prog_name="muster")
@click.pass_context
def cli(ctx: click.Context, server: str | None, context: str | None, no_color: bool) -> None:
    """Muster: one front door to every machine that can train a model.

    \b
    Start here:
      muster up                                    start Muster on this machine
      muster run --workers 2 -- python train.py    run a distributed job, no file needed
      muster get jobs                              list jobs
      muster logs -f @last                         follow its output
      muster explain @last                         see why it waits, or why it failed
    """
    ctx.obj = {"server": server, "context": context}
    if no_color or os.environ.get("NO_COLOR"):
        ctx.color = False


def main() -> None:
    try:
        cli(prog_name="muster")
    finally:
        # Python looks for garbage in all that was loaded when it ends, which takes a tenth of a short command's time.
        gc.freeze()
