"""What programs may report for one user in all: runs outside of Muster, and bytes of params and tags."""

from muster.domain.errors import Invalid, MusterError, TooLarge
from muster.engine.context import Context
from muster.ports.store import Reported

_COUNTED_AGAIN_S = 10.0
"""The store counts again only after this time for whoever is over a limit."""
_HINT = "remove runs that nobody needs: muster delete job/RUN (deleted by MLflow's client, a run can still be restored)"


async def reported_by(context: Context, owner: str) -> Reported:
    return context.reported_data.known(owner, since=0.0) or await _count(context, owner)


async def take_room(context: Context, owner: str, *, runs: int = 0, note_bytes: int = 0) -> None:
    """Count what is about to be stored. Raises Invalid or TooLarge if there is no room for it."""
    held = context.reported_data.known(owner) or await _count(context, owner)
    if _refusal(context, owner, held, runs, note_bytes) is not None:
        recently = context.clock() - _COUNTED_AGAIN_S
        held = context.reported_data.known(owner, since=recently) or await _count(context, owner)
        if (refusal := _refusal(context, owner, held, runs, note_bytes)) is not None:
            raise refusal
    context.reported_data.add(owner, runs, note_bytes)


def _refusal(context: Context, owner: str, held: Reported, runs: int, note_bytes: int) -> MusterError | None:
    limits = context.limits
    if runs > 0 and held.runs + runs > limits.outside_runs_per_user:
        allowed = limits.outside_runs_per_user
        return Invalid(f"{owner} has {held.runs} runs outside of Muster, {allowed} are allowed", hint=_HINT)
    if note_bytes > 0 and held.note_bytes + note_bytes > limits.note_bytes_per_user:
        has = f"{owner} has params and tags of {held.note_bytes} bytes in all runs"
        return TooLarge(f"{has}, {limits.note_bytes_per_user} are allowed", hint=_HINT)
    return None


async def _count(context: Context, owner: str) -> Reported:
    held = await context.store.reported_by(owner)
    context.reported_data.counted(owner, held, context.clock())
    return held
