"""Filters by the states of jobs, as addresses have them."""

from collections.abc import Sequence

from muster.domain.errors import Invalid
from muster.domain.jobs import JOB_STATES


def known_states(states: Sequence[str]) -> tuple[str, ...]:
    """Raises Invalid if one of them is no state of jobs."""
    unknown = [state for state in states if state not in JOB_STATES]
    if unknown:
        raise Invalid(f"{unknown[0]!r} is not a job state", hint=f"one of {', '.join(JOB_STATES)}")
    return tuple(states)
