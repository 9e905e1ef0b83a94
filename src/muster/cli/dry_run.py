"""Prints the result of a dry run: each task with its node, command and variables."""

import shlex
from collections.abc import Mapping
from typing import Any

import click

from muster.cli.session import say, say_warning
from muster.cli.tables.columns import resources_text
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import echo


def print_dry_run(plan: Mapping[str, Any], output: str) -> None:
    if output in ("json", "yaml"):
        print_document(plan, output)
        return
    job = plan["job"]
    print_pairs(
        [
            ("Job", job.get("name")),
            ("Mode", job.get("mode")),
            ("Cluster", job.get("cluster")),
            ("Tasks", job.get("tasks")),
            ("Resources", resources_text(job.get("resources"))),
        ]
    )
    for request in plan.get("requests") or ():
        _print_request(request)
    for file in plan.get("files") or ():
        echo(f"\n{click.style(str(file.get('name')), bold=True)}\n{file.get('content')}")
    for warning in plan.get("warnings") or ():
        say_warning(warning)
    say("Dry run: nothing was started")


def _print_request(request: dict[str, Any]) -> None:
    echo(f"\n{click.style(str(request.get('task')), bold=True)} on {request.get('node') or '-'}")
    echo(f"  $ {_command(request.get('argv'))}")
    container = request.get("container")
    if container and container.get("argv"):
        echo(f"  in a container of {request.get('image')}, run by {container.get('engine')}:")
        echo(f"  $ {_command(container['argv'])}")
    elif container:
        echo(f"  in a container of {request.get('image')}: {container.get('why')}")
    for name, values in (("devices", request.get("devices")), ("ports", request.get("ports"))):
        if values:
            echo(f"  {name}: {', '.join(str(value) for value in values)}")
    for name, value in sorted((request.get("env") or {}).items()):
        echo(f"  {name}={value}")


def _command(argv: list[str] | None) -> str:
    return shlex.join(str(word) for word in argv or ())
