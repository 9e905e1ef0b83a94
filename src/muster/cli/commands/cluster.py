"""`muster cluster`: the files that clusters are written in."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from muster.cli.failures import Failure
from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.session import say
from muster.domain.errors import Problem


@click.group()
def command() -> None:
    """Check the files that clusters, their nodes and virtual clusters are written in.

    A server starts and goes on whatever is wrong there: a file with a mistake counts as it did before.

    \b
    Examples:
      muster cluster check
      muster cluster check new-lab.yaml
      muster get clusters
    """


@command.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--folder",
    metavar="PATH",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the cluster files are [those of this machine's server: MUSTER_CLUSTERS, clusters.d in its home].",
)
@output_option("table", "json", "yaml")
def check(files: tuple[Path, ...], folder: Path | None, output: str) -> None:
    """Tell every mistake in cluster files, with its line. Exit 1 if there is one, 0 if there is none.

    Without FILE all files of the server's folder are checked, keys and password files that they name included, so run
    it as the account that runs the server. A FILE is checked as if it stood there already, before you put it there. One
    that is no YAML is taken for a list of nodes such as gpu_slaver_info.json. Nothing is changed, no server is asked.

    \b
    Examples:
      muster cluster check
      muster cluster check draft/lab.yaml && mv draft/lab.yaml ~/.muster/clusters.d/
      muster cluster check gpu_slaver_info.json -o json | jq -r '.items[] | "\\(.file):\\(.line) \\(.message)"'
    """
    found = _checked(folder, files)
    problems = [Problem(**item) for item in found["items"]]
    if "error" in found:
        raise Failure(found["error"], hint=found["hint"], problems=tuple(map(str, problems)))
    if output == "table":
        for problem in problems:
            click.echo(str(problem))
    else:
        print_document({"items": found["items"]}, output)
    if problems:
        raise click.exceptions.Exit(1)
    say(f"nothing is wrong in {', '.join(map(str, files)) or found['folder']}")


def _checked(folder: Path | None, files: tuple[Path, ...]) -> dict[str, Any]:
    """By a process of its own, because what may be written is known to the backends of a server alone."""
    where = ["--folder", str(folder)] if folder else []
    words = [sys.executable, "-m", "muster.bootstrap.cluster_check", *where, "--", *map(str, files)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Failure("the files cannot be checked", hint="see above for the reason")
    return dict(json.loads(done.stdout))
