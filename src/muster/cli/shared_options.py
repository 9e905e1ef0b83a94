"""Options and arguments that several commands share."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from muster.client.client import Client

Command = TypeVar("Command", bound=Callable[..., Any])
Names = Iterable[tuple[str, str]]
"""Names with a short help for each."""

FORMATS = ("table", "wide", "json", "yaml", "name")
_COMPLETION_TIMEOUT_S = 1.0
_OPEN = ("Queued", "Held", "Starting", "Running", "Stopping")


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


def open_jobs_argument(function: Command) -> Command:
    """Adds the argument of commands that act on jobs which have not ended."""
    return click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=complete_open_jobs)(
        function
    )


def complete_jobs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes `@last` and the newest job names."""
    return _complete_jobs(ctx, incomplete, states=())


def complete_open_jobs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes `@last` and the names of jobs that have not ended."""
    return _complete_jobs(ctx, incomplete, states=_OPEN)


def _complete_jobs(ctx: click.Context, incomplete: str, *, states: Iterable[str]) -> list[CompletionItem]:
    def names(client: "Client") -> Names:
        found = {"@last": "your newest job"}
        page, _ = client.jobs_page(limit=200, state=list(states))
        for job in page:
            found.setdefault(job.name, f"{job.state}, {job.owner}")
        return found.items()

    return _completions(ctx, incomplete, names)


def complete_workers(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the workers of the job that the line names before."""
    job = ctx.params.get("job")
    if not job:
        return []
    return _completions(
        ctx, incomplete, lambda client: [(task.short_name, task.state) for task in client.job(job).tasks()]
    )


def complete_nodes(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, lambda client: [(node.name, node.state) for node in client.nodes()])


def complete_secrets(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, lambda client: [(one.name, one.owner) for one in client.secrets()])


def complete_templates(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, lambda client: [(one.name, one.description) for one in client.templates()])


def complete_sweeps(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(
        ctx, incomplete, lambda client: [(one.name, f"{one.state}, {one.owner}") for one in client.sweeps(limit=200)]
    )


def complete_models(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, lambda client: [(one.name, one.description) for one in client.models()])


def complete_clusters(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, _physical)


def complete_virtual_clusters(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _completions(ctx, incomplete, _virtual)


def complete_destinations(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes what a job may name as its cluster: a virtual or a physical one."""
    return _completions(ctx, incomplete, lambda client: [*_virtual(client), *_physical(client)])


def _physical(client: "Client") -> Names:
    return [(one.name, one.backend) for one in client.clusters()]


def _virtual(client: "Client") -> Names:
    return [(one.name, f"virtual cluster of {one.cluster}") for one in client.virtual_clusters().items]


def _completions(ctx: click.Context, incomplete: str, names: "Callable[[Client], Names]") -> list[CompletionItem]:
    """The names that begin like this, each with its help. They must come quickly, or none is offered, because the user
    is waiting."""
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    chosen = ctx.find_root().params
    quick = Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S)
    try:
        found = names(Client(chosen.get("server"), context=chosen.get("context"), timeouts=quick))
    except (MusterError, OSError):
        return []
    return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]


def _no_color(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.color = False
        ctx.find_root().color = False
