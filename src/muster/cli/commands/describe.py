"""`muster describe`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from muster.cli.cluster_description import describe_cluster
from muster.cli.node_description import describe_node
from muster.cli.session import connect
from muster.cli.shared_options import complete_jobs, output_option
from muster.cli.shown_commands import shown
from muster.cli.submitted_jobs import framework_text
from muster.cli.tables.colours import state_colour
from muster.cli.tables.columns import event_columns, resources_text, task_columns
from muster.cli.tables.job_usage import attempt_lines, summary
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.terminal import echo
from muster.client.client import Client
from muster.client.errors import MusterError
from muster.client.handles import JobHandle
from muster.client.views import JobView

if TYPE_CHECKING:
    from muster.api.job_usage import JobUseOut

_EVENTS_SHOWN = 15
_KINDS = ("job", "jobs", "node", "nodes", "cluster", "clusters")


@click.command(context_settings={"allow_extra_args": True})
@click.argument("ref", metavar="JOB|node/NAME|cluster/NAME", shell_complete=complete_jobs)
@output_option("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, ref: str, output: str) -> None:
    """Show everything about a job, a node or a cluster.

    \b
    Examples:
      muster describe mnist
      muster describe node/gpu-07
      muster describe cluster/local
      muster describe @last -o yaml
    """
    if ctx.args and ref in _KINDS:
        raise click.UsageError(f"write a slash between the kind and the name: muster describe {ref}/{ctx.args[0]}")
    if ctx.args:
        raise click.UsageError(f"unexpected {' '.join(ctx.args)!r}; describe one object at a time")
    client = connect()
    if ref.startswith(("node/", "nodes/")):
        describe_node(client.node(ref.partition("/")[2]), output)
    elif ref.startswith(("cluster/", "clusters/")):
        describe_cluster(client, ref.partition("/")[2], output)
    else:
        _describe_job(client, ref.removeprefix("job/").removeprefix("jobs/"), output)


def _describe_job(client: Client, ref: str, output: str) -> None:
    handle = client.job(ref)
    if handle.view.origin != "muster":
        _describe_other(handle.view, output)
        return
    tasks = handle.tasks()
    events = list(handle.events())
    specs = _specs(handle)
    usage = _usage(handle)
    if output != "table":
        raws = {"tasks": [task.raw for task in tasks], "events": [event.raw for event in events]}
        print_document(
            {**handle.view.raw, **specs, "usage": usage, **{k: {"items": v} for k, v in raws.items()}}, output
        )
        return
    job, raw = handle.view, handle.view.raw
    print_pairs(
        [
            ("Name", job.name),
            ("Id", job.id),
            ("State", click.style(job.state, fg=state_colour(job.state))),
            ("Reason", job.reason),
            ("Owner", job.owner),
            ("Cluster", f"{job.vc} on {job.cluster}" if job.vc else job.cluster),
            ("Sweep", _sweep_text(client, raw)),
            ("Mode", job.mode),
            ("Framework", framework_text(raw)),
            ("Priority", raw.get("priority")),
            ("Attempt", f"{job.attempt} (retries: {raw.get('retries') or 0}, preemptions: {job.preemptions})"),
            ("Checkpoint", raw.get("checkpointAt")),
            ("Tracking URL", raw.get("trackingUrl")),
            ("Workers", f"{job.tasks}: {job.active} active, {job.succeeded} succeeded, {job.failed} failed"),
            ("Resources", resources_text(raw.get("resources"))),
            ("Time limit", raw.get("timeLimit")),
            ("Labels", " ".join(f"{key}={value}" for key, value in (raw.get("labels") or {}).items())),
            ("Params", _params_text(specs["spec"])),
            ("Package", (specs["spec"] or {}).get("package")),
            ("Runtime", _joined((specs["spec"] or {}).get("runtime"))),
            ("Created", raw.get("createdAt")),
            ("Started", raw.get("startedAt")),
            ("Ended", raw.get("endedAt")),
            ("Usage", None if usage is None else summary(usage)),
            ("Advice", None if usage is None else usage.get("advice")),
        ]
    )
    if specs["spec"]:
        _print_roles(specs["spec"], specs.get("template") or {})
    if usage is not None and len(usage["attempts"]) > 1:
        echo("\nAttempts:")
        echo("\n".join(attempt_lines(usage)))
    if tasks:
        echo("\nWorkers:")
        print_list(tasks, task_columns(), "wide")
    if events:
        echo("\nEvents:")
        print_list(events[-_EVENTS_SHOWN:], event_columns(), "table")


def _describe_other(job: JobView, output: str) -> None:
    """A job that was not made with Muster: the cluster's engine says no more about it."""
    if output != "table":
        print_document(job.raw, output)
        return
    print_pairs(
        [
            ("Name", job.name),
            ("Id", job.id),
            ("Origin", f"{job.origin}; it was not made with Muster, which only shows it"),
            ("State", click.style(job.state, fg=state_colour(job.state))),
            ("Reason", job.reason),
            ("Namespace", job.owner),
            ("Cluster", job.cluster),
            ("Mode", job.mode),
            ("Framework", job.raw.get("framework")),
            ("Restarts", job.raw.get("retries")),
            ("Resources", resources_text(job.raw.get("resources"))),
            ("Labels", " ".join(f"{key}={value}" for key, value in (job.raw.get("labels") or {}).items())),
            ("Created", job.raw.get("createdAt")),
            ("Started", job.raw.get("startedAt")),
            ("Ended", job.raw.get("endedAt")),
        ]
    )
    echo("\nRoles:")
    for role in job.raw.get("roles") or ():
        counts = f"{role['active']} active, {role['succeeded']} succeeded, {role['failed']} failed"
        echo(f"  {role['role']} x{role['replicas']}: {counts}")


def _specs(handle: JobHandle) -> dict[str, Any]:
    """The spec and its template, or nothing if the user may not read them. The rest of the job is still shown."""
    try:
        return {"spec": None, **handle.specs()}
    except MusterError as error:
        if error.status == 403:
            return {"spec": None}
        raise


def _usage(handle: JobHandle) -> "JobUseOut | None":
    """What the job used; None if the server is older and does not know."""
    try:
        return handle.usage()
    except MusterError as error:
        if error.status == 404:
            return None
        raise


def _joined(values: Mapping[str, Any] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in (values or {}).items())


def _sweep_text(client: Client, raw: Mapping[str, Any]) -> str | None:
    if not raw.get("sweep"):
        return None
    try:
        name = client.sweep(raw["sweep"]).name
    except MusterError:
        name = raw["sweep"]
    return f"{name}, member {raw['member']}"


def _params_text(spec: Mapping[str, Any] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in ((spec or {}).get("params") or {}).items())


def _print_roles(spec: Mapping[str, Any], template: Mapping[str, Any]) -> None:
    """Prints the commands as they run, and below each, if it has params, as it was written."""
    echo("\nRoles:")
    for name, role in (spec.get("roles") or {}).items():
        echo(f"  {name} x{role.get('replicas', 1)}: {_words(role.get('command'))}")
        if asked := resources_text(role.get("resources")):
            echo(f"  {'':{len(name)}}  each: {asked}")
        written = (template.get("roles") or {name: template}).get(name, {}).get("command")
        if "${params." in (shown := _words(written)):
            echo(f"  {'':{len(name)}}  template: {shown}")


def _words(command: Any) -> str:
    """A text that a shell runs is shown as it was written, with its further lines indented, so that none looks like
    another part of the description; a list of words as a shell would quote it."""
    words = command if isinstance(command, str) else shown(command)
    return "\n      ".join(words.splitlines())
