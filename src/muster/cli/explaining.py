"""Formats the answer of `muster explain` as text."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import click

from muster.cli.tables.colours import state_colour
from muster.client.views import ExplanationView, Raw, instant

_FORESEEN = timedelta(days=7)
"""What is expected later than this may just as well come true much earlier or much later."""


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
        yield f"  Starts {start_text(explanation.starts_at, explanation.starts_by, now)}."
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


def start_text(likely: datetime, latest: datetime | None, now: datetime) -> str:
    """`between 14:20 and 15:10`, with dates other than today's; `at once` if the time has come."""
    if likely <= now:
        return "at once"
    if likely > now + _FORESEEN:
        return f"in more than {_FORESEEN.days} days, by what is known now"
    if latest is None:
        return f"at about {_time_text(likely, now)}"
    first, last = _time_text(likely, now), _time_text(latest, now)
    return f"at about {first}" if first == last else f"between {first} and {last}"


def _time_text(at: datetime, now: datetime) -> str:
    here, today = at.astimezone(), now.astimezone().date()
    return f"{here:%H:%M}" if here.date() == today else f"{here:%H:%M} on {here:%Y-%m-%d}"


def _what_if_lines(supposed: Raw, now: datetime) -> Iterator[str]:
    changes = ", ".join(f"{key}={value}" for key, value in supposed["changes"].items())
    starts_at, starts_by = instant(supposed["startsAt"]), instant(supposed.get("startsBy"))
    when = "its start cannot be predicted"
    if starts_at is not None:
        when = f"it would start {start_text(starts_at, starts_by, now)}"
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
