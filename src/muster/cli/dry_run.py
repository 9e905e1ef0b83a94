"""Prints the result of a dry run: each task with its node, command and variables."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from muster.cli.explaining import start_text
from muster.cli.session import say, say_warning
from muster.cli.shown_commands import shown
from muster.cli.submitted_jobs import framework_text
from muster.cli.tables.columns import resources_text
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import echo
from muster.client.views import instant


def print_dry_run(plan: Mapping[str, Any], output: str) -> None:
    if output in ("json", "yaml"):
        print_document(plan, output)
        return
    job = plan["job"]
    print_pairs(
        [
            ("Job", job.get("name")),
            ("Mode", job.get("mode")),
            ("Framework", framework_text(job)),
            ("Cluster", job.get("cluster")),
            ("Tasks", job.get("tasks")),
            ("Resources", resources_text(job.get("resources"))),
            ("Start", _start_text(plan)),
            ("Waits", "; ".join(str(reason["message"]) for reason in plan.get("reasons") or ()) or None),
        ]
    )
    if plan.get("placement") == "alone" and plan.get("requests"):
        echo("\nNodes and devices are those that it would have if no other job ran.")
    for request in plan.get("requests") or ():
        _print_request(request)
    for file in plan.get("files") or ():
        echo(f"\n{click.style(str(file.get('name')), bold=True)}\n{file.get('content')}")
    for warning in plan.get("warnings") or ():
        say_warning(warning)
    say("Dry run: nothing was started")


def _start_text(plan: Mapping[str, Any]) -> str | None:
    """Nothing is shown where nothing is known."""
    starts_at = instant(plan.get("startsAt"))
    if starts_at is None:
        return None
    return start_text(starts_at, instant(plan.get("startsBy")), datetime.now(UTC))


def _print_request(request: dict[str, Any]) -> None:
    echo(f"\n{click.style(str(request.get('task')), bold=True)} on {request.get('node') or '-'}")
    if setup := request.get("setup"):
        kept = "kept for later jobs" if setup.get("cache") else "for this attempt only"
        echo(f"  setup, once per node, {kept} as {setup.get('key')}:")
        echo(f"  $ {shown(setup.get('command'))}")
    if line := request.get("commandLine"):
        echo(f"  $ {line}\n  run by bash, or by sh where there is no bash")
    elif request.get("argv"):
        echo(f"  $ {shown(request.get('argv'))}")
    else:
        arguments = f" with {shown(request['args'])}" if request.get("args") else ""
        echo(f"  the entry point of {request.get('image')}{arguments}")
    if workdir := request.get("workdir"):
        echo(f"  starts in {'the WORKDIR of the image' if workdir == 'image' else workdir}")
    container = request.get("container")
    if container and container.get("argv"):
        echo(f"  in a container of {request.get('image')}, run by {container.get('engine')}:")
        echo(f"  $ {shown(container['argv'])}")
    elif container:
        echo(f"  in a container of {request.get('image')}: {container.get('why')}")
    for name, values in (("devices", request.get("devices")), ("ports", request.get("ports"))):
        if values:
            echo(f"  {name}: {', '.join(str(value) for value in values)}")
    for name, value in sorted((request.get("env") or {}).items()):
        echo(f"  {name}={value}")
