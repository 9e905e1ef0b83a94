"""Formats the answer of `muster explain` as text."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from muster.cli.tables.colours import state_colour
from muster.client.views import ExplanationView, Raw, instant


def explanation_lines(explanation: ExplanationView, now: datetime) -> Iterator[str]:
    """Times are in the time zone of this machine."""
    state = click.style(explanation.state, fg=state_colour(explanation.state), bold=True)
    yield f"{explanation.job} is {state}"
    if explanation.summary:
        yield f"  {explanation.summary}"
    for reason in explanation.reasons:
        if str(reason.get("message")) not in explanation.summary:
            yield f"  - {reason.get('message') or reason.get('code')}"
        if reason.get("change") and reason["change"] != explanation.next:
            yield f"    it would change if: {reason['change']}"
    if explanation.starts_at is not None:
        yield f"  Starts {start_text(explanation.starts_at, now)}."
    if explanation.what_if is not None:
        yield from _what_if_lines(explanation.what_if, now)
    if explanation.fault is not None:
        yield from _fault_lines(explanation.fault)
    if explanation.evidence:
        yield "\nEvidence:"
        yield from (f"  | {line}" for line in explanation.evidence)
    if len(explanation.attempts) > 1:
        yield "\nAttempts:"
        for attempt in explanation.attempts:
            yield f"  {attempt['attempt']}. {attempt['outcome']}"
    advice = explanation.fault["advice"] if explanation.fault else None
    if explanation.next and explanation.next != advice:
        yield f"\nNext: {explanation.next}"


def start_text(start: datetime, now: datetime) -> str:
    """`at about 14:20`, with the date if it is not today; `at once` if the time has come."""
    if start <= now:
        return "at once"
    here, today = start.astimezone(), now.astimezone().date()
    day = "" if here.date() == today else f" on {here:%Y-%m-%d}"
    return f"at about {here:%H:%M}{day}"


def _what_if_lines(supposed: Raw, now: datetime) -> Iterator[str]:
    changes = ", ".join(f"{key}={value}" for key, value in supposed["changes"].items())
    starts_at = instant(supposed["startsAt"])
    when = "its start cannot be predicted" if starts_at is None else f"it would start {start_text(starts_at, now)}"
    yield f"\nWith {changes}: {when}"
    yield from (f"  - {reason['message']}" for reason in supposed["reasons"])


def _fault_lines(fault: Any) -> Iterator[str]:
    where = f" in {fault['task']}" if fault.get("task") else ""
    how = ""
    if fault.get("signal"):
        how = f", signal {fault['signal']}"
    elif fault.get("exitCode") is not None:
        how = f", exit code {fault['exitCode']}"
    yield f"\nFault: {fault.get('kind')}{where}{how}"
    if fault.get("cause"):
        yield f"  Cause:  {fault['cause']}"
    if fault.get("advice"):
        yield f"  Advice: {fault['advice']}"
    if fault.get("retryable") is not None:
        yield f"  {'A retry may help.' if fault['retryable'] else 'A retry alone will not help.'}"
