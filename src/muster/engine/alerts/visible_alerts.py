"""All alerts that a person may know of."""

from muster.domain.accounts import User
from muster.domain.alerting.alerts import ORDER, Alert
from muster.engine.alerts.cluster_alerts import cluster_alerts
from muster.engine.alerts.concerned import Concerned
from muster.engine.alerts.job_alerts import job_alerts
from muster.engine.alerts.node_alerts import node_alerts
from muster.engine.alerts.server_alerts import server_alerts
from muster.engine.context import Context


async def visible_alerts(context: Context, user: User) -> list[Alert]:
    """The worst first, and among those what concerns the person, then what has lasted longest."""
    concerned = Concerned.now(context, user)
    found = [
        *await server_alerts(context, concerned),
        *cluster_alerts(context, concerned),
        *node_alerts(context, concerned),
        *job_alerts(context, concerned),
    ]
    return sorted(found, key=_order)


def _order(alert: Alert) -> tuple[int, bool, float, str]:
    since = alert.since if alert.since is not None else float("inf")
    return ORDER.index(alert.severity), not alert.concerns_me, since, alert.id
