"""Alerts of the server itself, and of what it keeps for the person who asks."""

import asyncio
import shutil
from collections.abc import Iterator

from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject, SubjectType
from muster.domain.limits import Limits
from muster.engine.alerts.concerned import Concerned
from muster.engine.alerts.disk_space import disk_alert
from muster.engine.context import Context
from muster.engine.state.kept_data import KeptData
from muster.lib.quantities import about_bytes
from muster.ports.log_records import LogDelivery

_SERVER = Subject(SubjectType.SERVER, "server")
_NEARLY = 0.9


async def server_alerts(context: Context, concerned: Concerned) -> list[Alert]:
    found = list(_of_kept_data(context.kept_data, context.limits, concerned.user.name))
    if context.is_held:
        advice = "`muster server release` lets it go on" if concerned.user.is_admin else "an admin has to release it"
        message = "the database was restored from a backup: no job is started or stopped"
        found.append(Alert(AlertKind.SERVER_HELD, Severity.CRITICAL, _SERVER, message, advice, concerns_me=True))
    if not concerned.user.is_admin:
        return found
    disk, records = await _disk(context), _log_server(context.log_delivery, context.clock())
    return [*found, *(alert for alert in (disk, records) if alert is not None)]


def _log_server(delivery: LogDelivery, now: float) -> Alert | None:
    since = delivery.failing_since
    if since is None or now - since < delivery.alert_after_s:
        return None
    message = f"records of jobs cannot be sent to the log server: it {delivery.problem}"
    lost = f"; {delivery.dropped} were dropped, because too many wait" if delivery.dropped else ""
    return Alert(
        AlertKind.LOG_SERVER,
        Severity.CRITICAL if delivery.dropped else Severity.WARNING,
        _SERVER,
        f"{message}; {delivery.waiting} wait{lost}",
        f"start it at {delivery.address}, or correct logServer in the server's settings",
        since,
        {"address": delivery.address, "waiting": delivery.waiting, "dropped": delivery.dropped},
        concerns_me=True,
    )


async def _disk(context: Context) -> Alert | None:
    try:
        usage = await asyncio.to_thread(shutil.disk_usage, context.logs.parent)
    except OSError:
        return None
    used_bytes = usage.total - usage.free
    what = "the disk of the server's home folder"
    return disk_alert(AlertKind.SERVER_DISK, _SERVER, what, used_bytes, usage.total, concerns_me=True)


def _of_kept_data(kept: KeptData, limits: Limits, user: str) -> Iterator[Alert]:
    for what, used, most in (
        ("logs", kept.log_bytes(user), limits.log_bytes_per_user),
        ("outputs", kept.output_bytes(user), limits.output_bytes_per_user),
    ):
        if used >= most * _NEARLY:
            is_over = used > most
            message = f"you keep {about_bytes(used)} of {what}, and {about_bytes(most)} are allowed"
            yield Alert(
                AlertKind.KEPT_DATA,
                Severity.CRITICAL if is_over else Severity.WARNING,
                _SERVER,
                f"{message}: new jobs are refused" if is_over else message,
                "`muster delete JOB` removes the logs and outputs of ended jobs",
                numbers={"what": what, "usedBytes": used, "limitBytes": most},
                concerns_me=True,
                part=what,
            )
