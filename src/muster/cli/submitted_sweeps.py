"""What `muster submit` does with a file that has a sweep in it."""

import time
from collections.abc import Mapping
from typing import Any

import click

from muster.cli.dry_run import print_dry_run
from muster.cli.session import say
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.tables.sweep_columns import param_columns
from muster.cli.tables.text_tables import Column, render
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.client import Client
from muster.client.submitting import Submission
from muster.client.sweep_views import SweepView
from muster.lib.backoff import exponential


def submit_sweep(
    client: Client, submission: Submission, *, dry_run: bool, wait: bool, followed: bool, output: str
) -> None:
    if followed:
        hint = "`muster sweep describe NAME --watch` follows all members, `muster logs -f NAME-1` the output of one"
        raise click.UsageError(f"a sweep has no single log to follow: {hint}")
    if dry_run:
        print_sweep_plan(client.dry_run_sweep(submission), output)
        return
    with upload_progress() as progress:
        sweep = client.send_sweep(submission, progress=progress, announce=announce_packing)
    members = "1 member" if sweep.members == 1 else f"{sweep.members} members"
    say(f"submitted sweep {sweep.name} ({sweep.id}) with {members}")
    if wait:
        sweep = ended_sweep(client, sweep)
    if output == "name":
        echo(sweep.name)
    else:
        print_document(sweep.raw, output)
    if wait:
        raise click.exceptions.Exit(0 if sweep.state == "Succeeded" else 1)
    say(f"  muster sweep describe {sweep.name} --watch    follow its members")


def print_sweep_plan(plan: Mapping[str, Any], output: str) -> None:
    if output in ("json", "yaml"):
        print_document(plan, output)
        return
    print_pairs(
        [
            ("Sweep", plan["name"]),
            ("Members", plan["members"]),
            ("Params", ", ".join(plan["params"])),
            ("Seed", plan.get("seed")),
        ]
    )
    columns: list[Column[Any]] = [Column("NAME", lambda one: one["name"]), *param_columns(plan["params"])]
    echo("\n" + "\n".join(render(columns, plan["first"])))
    if (more := plan["members"] - len(plan["first"])) > 0:
        echo(f"… and {more} more")
    echo("\nThe first member:\n")
    print_dry_run(plan["run"], output)


def ended_sweep(client: Client, sweep: SweepView) -> SweepView:
    """Waits for its end. Ctrl-C ends the command, not the sweep."""
    tries = 0
    try:
        while not sweep.ended:
            tries += 1
            time.sleep(exponential(tries, first_s=0.1, limit_s=2.0))
            sweep = client.sweep(sweep.id)
    except KeyboardInterrupt:
        say(f"\nno longer waiting; sweep {sweep.name} continues")
        say(f"  muster sweep wait {sweep.name}    wait again")
        say(f"  muster sweep stop {sweep.name}    stop it")
        raise click.exceptions.Exit(130) from None
    say(f"sweep {sweep.name} is {sweep.state}: {outcome_text(sweep)}")
    return sweep


def outcome_text(sweep: SweepView) -> str:
    counts = [
        (sweep.succeeded, "succeeded"),
        (sweep.failed, "failed"),
        (sweep.cancelled, "cancelled"),
        (sweep.active, "active"),
        (sweep.waiting, "waiting"),
        (sweep.never_made, "never made"),
        (sweep.deleted, "deleted"),
    ]
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "no members"
