"""The options that say which environment a job runs in: --image, --conda and --venv."""

from typing import Any

import click

from muster.cli.shared_options import Command


def runtime_options(function: Command) -> Command:
    """Adds the three options, which the command gets as `image`, `conda` and `venv`."""
    for option in (
        click.option("--venv", metavar="PATH", help="Run it in this virtual environment, a path on the node."),
        click.option("--conda", metavar="NAME", help="Run it in this conda environment."),
        click.option("--image", metavar="IMAGE", help="Run it in a container of this image."),
    ):
        function = option(function)
    return function


def runtime_of(image: str | None, conda: str | None, venv: str | None) -> dict[str, Any]:
    """The `runtime` of the job spec; empty if the programs of the node are used."""
    runtime = {key: value for key, value in (("image", image), ("conda", conda), ("venv", venv)) if value}
    if len(runtime) > 1:
        raise click.UsageError("choose one of --image, --conda and --venv")
    return runtime
