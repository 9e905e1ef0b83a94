"""`muster cluster`, which checks cluster files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from muster.cli.failures import Failure
from muster.cli.lazy_group import Group
from muster.cli.session import say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.domain.errors import Problem


@click.group(cls=Group)
def command() -> None:
    """Check the files that describe clusters, their nodes and virtual clusters.

    A server starts and runs even if such a file has mistakes: it continues to use the last valid version of the file.

    \b
    Examples:
      muster cluster check
      muster cluster check new-lab.yaml
      muster get clusters
    """


@command.command()
@click.argument("files", metavar="[FILE]...|FOLDER", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--folder",
    metavar="PATH",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with the cluster files [that of this machine's server: MUSTER_CLUSTERS, or as its settings say].",
)
@click.option(
    "--connect",
    is_flag=True,
    help="Also ask the clusters whether jobs could run there, and what is missing.",
)
@output_option("table", "json", "yaml")
def check(files: tuple[Path, ...], folder: Path | None, connect: bool, output: str) -> None:
    """Report every mistake in cluster files, with its line. The exit code is 1 if there are mistakes, else 0.

    Without FILE, all files in the server's folder are checked, including the key and password files that they name, so
    run the command as the account that runs the server. The folder is the one that config.yaml in MUSTER_HOME names, or
    clusters.d there; of a deployment of receivers, MUSTER_HOME is its folder `store`. A FOLDER is checked in place of
    that folder. A FILE is checked as if it were already in that folder. A FILE
    that is not YAML is read as a list of nodes such as gpu_slaver_info.json. A user or group in an access list that the
    server's database does not have is a warning. The command changes nothing, and contacts no cluster without
    --connect. Of Kubernetes, that says which kubeconfig, context and namespace are used; of Slurm, it compares the
    partitions and the versions that the file expects with what is there; to machines over SSH, it logs in and looks
    for Python. It is a mistake, too, if no job could run there; rights without which jobs run are warnings, and so
    are machines that cannot be used while others can.

    \b
    Examples:
      muster cluster check
      muster cluster check --connect k8s.yaml
      muster cluster check /srv/clusters
      muster cluster check draft/lab.yaml && mv draft/lab.yaml ~/.muster/clusters.d/
      muster cluster check gpu_slaver_info.json -o json | jq -r '.items[] | "\\(.file):\\(.line) \\(.message)"'
    """
    if any(file.is_dir() for file in files):
        if len(files) > 1 or folder is not None:
            raise click.UsageError("Name files, or one folder.")
        folder, files = files[0], ()
    found = _checked(folder, files, connect)
    problems = [Problem(**item) for item in found["items"]]
    if "error" in found:
        raise Failure(found["error"], hint=found["hint"], problems=tuple(map(str, problems)))
    for note in found["notes"]:
        say(note)
    for warning in found["warnings"]:
        say(f"warning: {warning}")
    if output == "table":
        for problem in problems:
            echo(str(problem))
    else:
        print_document({"items": found["items"]}, output)
    if problems:
        raise click.exceptions.Exit(1)
    say(f"no mistakes in {', '.join(map(str, files)) or found['folder']}")


def _checked(folder: Path | None, files: tuple[Path, ...], connect: bool) -> dict[str, Any]:
    """Runs the check in a separate process, because only the backends of a server know which keys are valid."""
    where = [*(["--folder", str(folder)] if folder else []), *(["--connect"] if connect else [])]
    words = [sys.executable, "-m", "muster.bootstrap.cluster_check", *where, "--", *map(str, files)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Failure("the files cannot be checked", hint="the reason is shown above")
    return dict(json.loads(done.stdout))
