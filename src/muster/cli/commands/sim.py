"""`muster sim`, which simulates other policies and clusters. It is the only command that runs the scheduler itself
instead of calling a server.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.option_types import Parsed
from muster.cli.png_files import png_or_failure
from muster.cli.progress import progress
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.tables.text_tables import Column, render
from muster.cli.terminal import echo
from muster.domain.errors import Invalid, MusterError
from muster.lib.gc_tuning import tune_garbage_collector
from muster.lib.quantities import about_duration
from muster.simulation.charts import HEIGHT, WIDTH, draw
from muster.simulation.driver import simulate
from muster.simulation.generating import Recipe, generate
from muster.simulation.history import is_running, jobs_of, nodes_of
from muster.simulation.isolated_runs import Simulate, apart, worse_off
from muster.simulation.metrics import Summary, summarise
from muster.simulation.options import (
    Durations,
    NodeGroup,
    Options,
    PlacementKind,
    Policy,
    PreemptionCost,
    parse_durations,
    parse_nodes,
    parse_preemption_cost,
    parse_vc,
)
from muster.simulation.records import Run, TraceJob
from muster.simulation.report import Rows, breakdown, comparison, in_seconds
from muster.simulation.traces import read_nodes, read_quota, read_trace, write_trace

_TABLES = (".csv", ".csv.gz")
_PICTURES = (".svg", ".png")


def _parse_policies(text: str) -> list[Policy]:
    names = [name.strip() for name in text.split(",")]
    wrong = [name for name in names if name not in set(Policy)]
    if wrong:
        raise ValueError(f"{wrong[0]!r}: expected {', '.join(Policy)}")
    return [Policy(name) for name in names]


_POLICIES = Parsed("policies", _parse_policies, tuple(Policy))
_DURATIONS = Parsed("durations", parse_durations, ("exact", "unknown", "noisy:1", "limit"))
_COST = Parsed("cost", parse_preemption_cost, ("0", "helios", "checkpoint:30m", "none"))
_VC = Parsed("vc", parse_vc)


@click.group(invoke_without_command=True)
@click.option("--trace", metavar="FILE", help="The jobs to replay, as CSV, also gzipped; `-` reads standard input.")
@click.option("--from-history", is_flag=True, help="Replay the jobs that have run on the server instead.")
@click.option("--since", metavar="TIME", help="With --from-history, only jobs since this time: 2026-01-31, 7d, 2h.")
@click.option("--nodes", metavar="NODES", help="COUNTxGPUS[xMODEL][,…], or a CSV of nodes [the server's].")
@click.option(
    "--policy",
    "policies",
    type=_POLICIES,
    multiple=True,
    metavar="NAME[,NAME…]",
    help="The scheduling policies, separated by commas [default].",
)
@click.option(
    "--placement",
    type=click.Choice([str(kind) for kind in PlacementKind]),
    default=str(PlacementKind.CONSOLIDATED),
    show_default=True,
    help="Pack jobs onto as few nodes as possible, or only count GPUs.",
)
@click.option(
    "--durations",
    type=_DURATIONS,
    default="exact",
    show_default=True,
    metavar="exact|unknown|noisy:SEED|limit",
    help="What the policy knows about run times in advance.",
)
@click.option(
    "--preemption-cost",
    "cost",
    type=_COST,
    default="0",
    show_default=True,
    metavar="0|helios|checkpoint:TIME|none",
    help="The cost of preempting a job; `none` forbids preemption.",
)
@click.option(
    "--vc-quota",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A CSV of virtual clusters and the nodes that are guaranteed to each.",
)
@click.option(
    "--vc",
    "vcs",
    type=_VC,
    multiple=True,
    metavar="NAME=NODES",
    help="The guaranteed nodes of one virtual cluster; repeatable.",
)
@click.option("--apart", "also_apart", is_flag=True, help="Also simulate each virtual cluster alone on its own nodes.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the result as .svg or .png.")
@output_option("table", "wide", "json", "yaml")
@click.pass_context
def command(
    ctx: click.Context,
    trace: str | None,
    from_history: bool,
    since: str | None,
    nodes: str | None,
    policies: tuple[list[Policy], ...],
    placement: str,
    durations: Durations,
    cost: PreemptionCost,
    vc_quota: Path | None,
    vcs: tuple[tuple[str, int], ...],
    also_apart: bool,
    picture: Path | None,
    output: str,
) -> None:
    """Replay jobs through the scheduler in virtual time, and compare policies and clusters.

    The jobs come from a trace (a CSV with at least job_id, submit_s, duration_s, gpus; optional: user, vc, gpu_type,
    cpus, mem in MiB, limit_s) or from the history of your own server. The scheduler is the one that the server runs, so
    `default` shows what a new installation would have done.

    Policies: fifo (strict; the first job blocks the others), first-fit (any job that fits may start), easy (a job may
    start early if it does not delay the first one), ssf (shortest GPU time first), srsf (shortest remaining GPU time,
    preemptive), las (least attained service), fair (by past usage of users), default.

    Durations: `unknown` is the realistic setting for your own cluster, where run times are not known in advance and a
    policy can only learn from jobs that have ended; `exact` shows the best that a policy could achieve.

    Preemption costs: 0; helios (7 s to restart a job with 1 GPU, 30 s with up to 8, 60 s with more); checkpoint:30m (a
    job loses its work since the last multiple of 30 minutes); none (no preemption).

    \b
    Examples:
      muster sim --trace jobs.csv.gz --nodes 8x8
      muster sim --trace jobs.csv --nodes 8x8xV100,4x4xA100 --policy fifo,las,default --picture compared.svg
      muster sim --trace jobs.csv --nodes 80x8 --policy srsf --durations noisy:1 --preemption-cost helios -o json
      muster sim --trace jobs.csv --nodes 12x8 --vc vision=8 --vc speech=4 --apart
      muster sim --from-history --since 30d --policy default,fair --durations unknown
      muster sim generate --jobs 1000 --seed 1 > jobs.csv
    """
    if ctx.invoked_subcommand is not None:
        return
    if picture and picture.suffix not in _PICTURES:
        raise click.UsageError(f"--picture {picture}: expected a name that ends in .svg or .png")
    try:
        jobs, groups = _inputs(trace, from_history, since, nodes)
        quota = _quota(vc_quota, vcs, groups)
        kept = [job for job in jobs if quota is None or job.vc in quota]
        _report_left_out(len(jobs) - len(kept), len(kept))
        options = Options(Policy.DEFAULT, PlacementKind(placement), durations, cost, quota)
        chosen = [policy for each in policies for policy in each] or [Policy.DEFAULT]
        runs: list[Run] = []
        tune_garbage_collector()  # a long trace makes millions of objects, and hardly any cycles
        for each in (replace(options, policy=policy) for policy in dict.fromkeys(chosen)):
            alone = [_run(apart(simulate), kept, groups, each)] if also_apart else []
            runs += [_run(simulate, kept, groups, each), *alone]
        if picture:
            _save(picture, draw(runs))
    except MusterError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        raise Failure(error.message, hint=error.hint, problems=tuple(map(str, problems))) from error
    settings = {"placement": placement, "durations": str(durations), "preemption_cost": str(cost)}
    summaries = [summarise(run) | settings | {"left_out": len(jobs) - len(kept)} for run in runs]
    if also_apart:
        for place in range(0, len(runs), 2):
            summaries[place]["worse_off"] = worse_off(runs[place], runs[place + 1])
    _print(summaries, output)


@command.command("generate")
@click.option("--jobs", type=click.IntRange(min=1), default=1000, show_default=True, help="The number of jobs.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The random seed. The same seed generates the same jobs."
)
@click.option(
    "--per-hour",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="The number of jobs that arrive in an hour.",
)
@click.option(
    "--median", type=click.FloatRange(min=1), default=600.0, show_default=True, help="The median run time in seconds."
)
@click.option("--max-gpus", type=click.IntRange(min=1), default=32, show_default=True, help="The most GPUs of one job.")
@click.option("--users", type=click.IntRange(min=0), default=8, show_default=True, help="The number of users.")
@click.option("--vcs", type=click.IntRange(min=0), default=2, show_default=True, help="The number of virtual clusters.")
def generate_trace(jobs: int, seed: int, per_hour: float, median: float, max_gpus: int, users: int, vcs: int) -> None:
    """Print a synthetic trace: random arrivals, log-normal run times, gangs of 1 to 32 GPUs.

    \b
    Examples:
      muster sim generate --jobs 1000 --seed 1 > jobs.csv
      muster sim generate --jobs 5000 --per-hour 200 --vcs 4 | muster sim --trace - --nodes 16x8
    """
    write_trace(generate(Recipe(jobs, seed, per_hour, median, users, vcs, max_gpus)), sys.stdout)


def _inputs(
    trace: str | None, from_history: bool, since: str | None, nodes: str | None
) -> tuple[list[TraceJob], list[NodeGroup]]:
    if (trace is None) != from_history:
        raise click.UsageError(
            "choose the jobs with either --trace FILE or --from-history (`muster sim generate` prints a trace)"
        )
    if since and not from_history:
        raise click.UsageError("--since needs --from-history")
    if nodes is None and not from_history:
        raise click.UsageError("choose the nodes with --nodes COUNTxGPUS[xMODEL], such as --nodes 8x8")
    groups = _nodes(nodes) if nodes is not None else nodes_of(node.raw for node in connect().nodes())
    if trace is not None:
        jobs = read_trace(Path("/dev/stdin" if trace == "-" else trace))
    else:
        jobs = _history(since)
    if not jobs:
        raise Invalid(
            "there are no jobs to replay", hint="the trace has only a header, or no job of the server has run"
        )
    return jobs, groups


def _history(since: str | None) -> list[TraceJob]:
    """The jobs of the server that have run. Those that still run are replayed as if they ended now."""
    found = [job.raw for job in connect().jobs(since=since)]
    jobs = jobs_of(found, time.time())
    replayed = {job.job_id for job in jobs}
    if running := sum(1 for job in found if job["id"] in replayed and is_running(job)):
        say(f"{running} job{'s' if running > 1 else ''} still running: replayed as if ended now")
    return jobs


def _nodes(text: str) -> list[NodeGroup]:
    if text.endswith(_TABLES):
        return read_nodes(Path(text))
    try:
        return parse_nodes(text)
    except ValueError as error:
        raise click.UsageError(f"--nodes {error}") from error


def _quota(path: Path | None, vcs: Sequence[tuple[str, int]], groups: Sequence[NodeGroup]) -> dict[str, int] | None:
    if path is None and not vcs:
        return None
    quota = (read_quota(path, groups) if path else {}) | dict(vcs)
    promised, there = sum(quota.values()), sum(group.count for group in groups)
    if promised > there:
        raise Invalid(
            f"{promised} nodes are guaranteed to virtual clusters, but there are only {there}",
            hint="guarantee fewer nodes, or add --nodes",
        )
    return quota


def _report_left_out(left_out: int, kept: int) -> None:
    if not kept:
        raise Invalid(
            "no job belongs to a virtual cluster with guaranteed nodes", hint="the trace's column `vc` names them"
        )
    if left_out:
        say(f"{left_out} job{'s' if left_out > 1 else ''} left out: their virtual cluster has no guaranteed nodes")


def _run(simulated: Simulate, jobs: Sequence[TraceJob], groups: Sequence[NodeGroup], options: Options) -> Run:
    with progress(str(options.policy)) as tell:
        run = simulated(jobs, groups, options, tell)
    if run.never:
        names = ", ".join(job.job_id for job in run.never[:3]) + (", …" if len(run.never) > 3 else "")
        say_warning(f"{run.policy}: {len(run.never)} jobs could never run on these nodes: {names}")
    return run


def _save(path: Path, svg: str) -> None:
    if path.suffix == ".png":
        path.write_bytes(png_or_failure(svg, WIDTH, HEIGHT))
    else:
        path.write_text(svg, encoding="utf-8")
    say(f"saved the picture to {path}")


def _print(summaries: Sequence[Summary], output: str) -> None:
    """The result of one policy is printed as one object, those of several as a list in `runs`."""
    if output in ("json", "yaml"):
        print_document(summaries[0] if len(summaries) == 1 else {"runs": list(summaries)}, output)
        return
    write = in_seconds if output == "wide" else about_duration
    tables = [comparison(summaries, write), breakdown(summaries, "vcs", write)]
    if output == "wide":
        tables.append(breakdown(summaries, "users", write))
    echo("\n\n".join("\n".join(_drawn(table)) for table in tables if table))


def _drawn(rows: Rows) -> list[str]:
    columns = [
        Column(title, lambda row, place=place: row[place], right=place > 0)  # type: ignore[misc]
        for place, title in enumerate(rows[0])
    ]
    return render(columns, rows[1:])
