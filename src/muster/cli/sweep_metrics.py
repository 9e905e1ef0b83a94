"""Whether the metric of a sweep is one that its members report."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muster.lib.nearest import nearest

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.sweep_views import MemberView, SweepView

_LOOKED_AT = 5
"""Members run the same program, so that a few tell what all report."""


def reported_instead(client: "Client", sweep: "SweepView", members: Sequence["MemberView"]) -> str:
    """What members have reported, if none has reported the metric of the sweep; empty if there is nothing to say."""
    if not sweep.metric or any(one.value is not None or one.has_diverged for one in members):
        return ""
    started = [one for one in members if one.started_at is not None]
    found = {item["name"] for one in started[:_LOOKED_AT] for item in client.metrics(one.job, {"points": 0})["metrics"]}
    if not found or sweep.metric in found:
        return ""
    near = nearest(sweep.metric, sorted(found))
    return f"They have reported: {', '.join(sorted(found))}" + (f"; did you mean {near}?" if near else "")
