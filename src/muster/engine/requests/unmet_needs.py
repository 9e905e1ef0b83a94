"""Explains what is wrong on which node when a job waits for a folder, conda or containers there.

The scheduler sees only labels. The alerts of the nodes say what was found instead.
"""

from dataclasses import replace

from muster.domain.jobs import Job
from muster.domain.needs import alert_prefix, needs_of, unmet
from muster.domain.reasons import Reason
from muster.engine.context import Context

_CODES = ("not-in-order", "fragmented", "no-free-gpu", "no-free-cpu", "no-free-memory", "no-free-device")
"""The reasons of jobs that wait for nodes. Some of these nodes may lack only a label."""
_NODES_NAMED = 5


def detailed(context: Context, job: Job, reason: Reason) -> Reason:
    """The reason with what each node lacks: `gpu2: not the same as on gpu1`."""
    if reason.code not in _CODES:
        return reason
    needs = needs_of(job.spec, context.backends[job.cluster].settings)
    found = []
    for node in context.nodes(job.cluster):
        lacking = unmet(needs, node.labels) if node.is_usable else []
        found += [f"{node.name}: {problem}" for label in lacking if (problem := _problem(label, node.alerts))]
    if not found:
        return reason
    more = f" and {len(found) - _NODES_NAMED} more" if len(found) > _NODES_NAMED else ""
    return replace(reason, message=f"{reason.message}: {'; '.join(found[:_NODES_NAMED])}{more}")


def _problem(label: str, alerts: tuple[str, ...]) -> str:
    prefix = alert_prefix(label)
    return next((alert.removeprefix(prefix) for alert in alerts if alert.startswith(prefix)), "")
