"""Options and arguments that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "wide", "json", "yaml", "name")
_COMPLETION_TIMEOUT_S = 1.0


def output_option(*formats: str, default: str = "table") -> Callable[[Command], Command]:
    choice = click.Choice(formats or FORMATS)

    def decorate(function: Command) -> Command:
        function = click.option(
            "-o", "--output", type=choice, default=default, show_default=True, help="The output format."
        )(function)
        return click.option(
            "--no-color",
            is_flag=True,
            expose_value=False,
            callback=_no_color,
            hidden=True,
            help="Print without colours.",
        )(function)

    return decorate


def job_argument(function: Command) -> Command:
    return click.argument("job", metavar="JOB", shell_complete=complete_jobs)(function)


def jobs_argument(function: Command) -> Command:
    return click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=complete_jobs)(function)


def complete_jobs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes `@last` and the newest job names. It must be quick, or offer nothing, because the user is waiting."""
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    chosen = ctx.find_root().params
    try:
        client = Client(
            chosen.get("server"),
            context=chosen.get("context"),
            timeouts=Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S),
        )
        page, _ = client.jobs_page(limit=200)
    except (MusterError, OSError):
        return []
    helps = {"@last": "your newest job"}
    for job in page:
        helps.setdefault(job.name, f"{job.state}, {job.owner}")
    return [CompletionItem(name, help=text) for name, text in helps.items() if name.startswith(incomplete)]


def complete_nodes(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    chosen = ctx.find_root().params
    quick = Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S)
    try:
        nodes = Client(chosen.get("server"), context=chosen.get("context"), timeouts=quick).nodes()
    except (MusterError, OSError):
        return []
    return [CompletionItem(node.name, help=node.state) for node in nodes if node.name.startswith(incomplete)]


def complete_secrets(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    chosen = ctx.find_root().params
    quick = Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S)
    try:
        secrets = Client(chosen.get("server"), context=chosen.get("context"), timeouts=quick).secrets()
    except (MusterError, OSError):
        return []
    return [CompletionItem(one.name, help=one.owner) for one in secrets if one.name.startswith(incomplete)]


def _no_color(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.color = False
        ctx.find_root().color = False
