"""`muster monitor status`: what the state file says about the monitor and the receivers."""

import json

from muster.domain.errors import Invalid
from muster.lib.clock import iso, optional_iso
from muster.lib.quantities import about_duration
from muster.monitor.checking_once import Report
from muster.monitor.reason_text import reason_text
from muster.monitor.state import MonitorState, ReceiverState
from muster.monitor.words import Words

_LATE_ROUNDS = 3
"""A monitor whose last round is more intervals ago than this is not at work."""


def status(state: MonitorState | None, now: float, as_json: bool) -> Report:
    """It is well if a monitor is at work, whatever it has found. Raises Invalid if there was none."""
    if state is None or state.round_at is None:
        raise Invalid("no monitor has completed a round with this file yet", hint="start it: muster monitor --config …")
    ago_s = now - state.round_at
    is_late = not -state.interval_s <= ago_s <= _LATE_ROUNDS * state.interval_s
    lines = [_document(state, is_late)] if as_json else _lines(state, ago_s, is_late)
    return Report(lines, not is_late)


def _document(state: MonitorState, is_late: bool) -> str:
    facts = {
        "lastRoundAt": optional_iso(state.round_at),
        "isLate": is_late,
        "rounds": state.rounds,
        "receivers": {title: _facts(one) for title, one in state.receivers.items()},
        "unsentNotices": len(state.pending),
        "problems": dict(state.problems),
        "digestDueAt": optional_iso(state.digest_due),
    }
    return json.dumps(facts, ensure_ascii=False, indent=2)


def _facts(one: ReceiverState) -> dict[str, object]:
    reason = None if one.reason is None else reason_text(one.reason, Words("en"))
    return {"isDown": one.is_down, "downSince": iso(one.since) if one.is_down else None, "reason": reason}


def _lines(state: MonitorState, ago_s: float, is_late: bool) -> list[str]:
    assert state.round_at is not None
    late = ": the monitor is not at work" if is_late else ""
    lines = [f"last round {about_duration(max(0.0, ago_s))} ago{late}"]
    for title, one in state.receivers.items():
        why = "" if one.reason is None else f": {reason_text(one.reason, Words('en'))}"
        lines.append(f"{title}: {'down' if one.is_down else 'up'}{why}")
    lines.append(f"unsent notices: {len(state.pending)}")
    lines += [f"{way}: {problem}" for way, problem in state.problems.items()]
    return [*lines, f"next digest: {iso(state.digest_due)}"] if state.digest_due is not None else lines
