"""`muster env`, which lists and tests the environments that jobs can use."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import complete_clusters, complete_nodes, output_option
from muster.cli.tables.environment_columns import (
    environment_columns,
    package_columns,
    package_rows,
    trial_columns,
    with_names,
)
from muster.cli.tables.output import print_document, print_list
from muster.cli.tables.text_tables import render
from muster.cli.terminal import echo
from muster.client.environment_views import EnvironmentTestView
from muster.client.transport import Timeouts

_PATIENT = Timeouts(answer_s=120.0)


@click.group(cls=Group)
def command() -> None:
    """List and test the environments on clusters, and what is installed in them.

    A job selects one as `runtime.conda`, `runtime.venv` or `runtime.image`.

    \b
    Examples:
      muster env list
      muster env test py310
      muster env packages py310 --grep torch
      muster submit train.yaml --set runtime.conda=py310
    """


@command.command("list")
@click.option("--cluster", metavar="NAME", help="Only this cluster.", shell_complete=complete_clusters)
@click.option("--node", metavar="NAME", help="Only this node.", shell_complete=complete_nodes)
@output_option()
def list_(cluster: str | None, node: str | None, output: str) -> None:
    """List conda environments, virtual environments in the clusters' folders, and container images.

    Versions are read from installed files; nothing is run. `muster env test` shows the versions in an image.

    \b
    Examples:
      muster env list
      muster env list --cluster lab -o wide
      muster env list -o json | jq '.items[] | select(.frameworks.torch)'
    """
    found = connect(_PATIENT).environments(cluster, node)
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    elif found.items:
        print_list(found.items, environment_columns(), output)
    if not found.items:
        say("there are no environments; an admin can add folders and `conda` to the cluster file")
    for problem in found.problems:
        say_warning(problem)


@command.command()
@click.argument("name")
@click.option(
    "--cluster",
    metavar="NAME",
    help="The cluster; if absent, the default one, or the one that has the environment.",
    shell_complete=complete_clusters,
)
@click.option("--node", metavar="NAME", help="Only this node.", shell_complete=complete_nodes)
@output_option("table", "json", "yaml")
def test(name: str, cluster: str | None, node: str | None, output: str) -> None:
    """Import the frameworks of an environment on each node, and check whether they find a GPU.

    The environment's own Python imports each framework separately, within 50 seconds in total. It can see one GPU that
    is not allocated; on a node without a free GPU, only the import is tested. The exit code is 1 if anything fails.

    \b
    Examples:
      muster env test py310
      muster env test envs/venvs/torch2 --cluster lab --node gpu1
      muster env test py310 -o json
    """
    trials = connect(_PATIENT).test_environment(name, cluster, node)
    if output != "table":
        print_document({"items": [trial.raw for trial in trials]}, output)
    else:
        echo("\n".join(render(trial_columns(), [row for trial in trials for row in _rows(trial)])))
        for trial in trials:
            _print_errors(trial)
    if not all(trial.ok for trial in trials):
        raise click.exceptions.Exit(1)


@command.command()
@click.argument("name")
@click.option(
    "--cluster",
    metavar="NAME",
    help="The cluster; if absent, the default one, or the one that has the environment.",
    shell_complete=complete_clusters,
)
@click.option("--node", metavar="NAME", help="Only this node.", shell_complete=complete_nodes)
@click.option("--grep", "wanted", metavar="TEXT", default="", help="Only packages whose name contains this text.")
@output_option("table", "json", "yaml")
def packages(name: str, cluster: str | None, node: str | None, wanted: str, output: str) -> None:
    """List the packages that are installed in an environment, with their versions.

    The environment's own Python lists them on each node, and for conda also what conda has installed besides. The exit
    code is 1 if a node could not be asked.

    \b
    Examples:
      muster env packages py310
      muster env packages py310 --grep cuda
      muster env packages py310 --node gpu1 -o json | jq '.items[].packages[].name'
    """
    found = [with_names(one, wanted) for one in connect(_PATIENT).environment_packages(name, cluster, node)]
    if output != "table":
        print_document({"items": [{**one.raw, "packages": one.packages} for one in found]}, output)
    elif rows := package_rows(found):
        echo("\n".join(render(package_columns(), rows)))
    elif not any(one.error for one in found):
        say(f"no package has {wanted!r} in its name" if wanted else f"{name} has no packages")
    for one in found:
        if one.error:
            say(f"{one.node}: {one.error}")
    if any(one.error for one in found):
        raise click.exceptions.Exit(1)


def _rows(trial: EnvironmentTestView) -> Iterator[dict[str, Any]]:
    """One row for each framework, or a single row if there is none."""
    frameworks: Sequence[Mapping[str, Any]] = trial.frameworks or ({},)
    for framework in frameworks:
        yield {
            "node": trial.node,
            "python": trial.python,
            "framework": framework.get("name"),
            "version": framework.get("version"),
            "gpus": framework.get("gpus"),
            "result": "ok" if framework.get("ok", not trial.error) else "failed",
        }


def _print_errors(trial: EnvironmentTestView) -> None:
    if trial.error:
        say(f"{trial.node}: {trial.error}")
    for framework in trial.frameworks:
        if framework.get("error"):
            say(f"{trial.node}: {framework['name']}: {framework['error']}")
    if trial.card is None and trial.frameworks:
        say(f"{trial.node}: no GPU was free, so GPUs were not tested")
