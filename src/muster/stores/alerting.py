"""Alerts, silences, notices on their way, and what users want to be told. The store knows only what it filters by; the
rest is JSON."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Table, delete, func, insert, select, update

from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, Silence
from muster.domain.alerting.notices import NoticeSettings, QueuedNotice
from muster.domain.errors import NotFound
from muster.ports.store import AlertingChange, TriedNotice
from muster.stores.tables import NOTICES_COUNTER, alert_silences, alerts, counters, notice_settings, notices

_RECORD = TypeAdapter(AlertRecord)
_NOTICE = TypeAdapter(QueuedNotice)
_SETTINGS = TypeAdapter(NoticeSettings)


def write_alerting(connection: Connection, change: AlertingChange) -> None:
    for record in change.alerts:
        _put(connection, alerts, "id", _record_row(record))
    _remove(connection, alerts, "id", change.dropped_alerts)
    if change.removed_silence is not None:
        found = connection.execute(delete(alert_silences).where(alert_silences.c.id == change.removed_silence))
        if found.rowcount == 0:
            raise NotFound(f"there is no silence {change.removed_silence}", hint="see `muster alerts silence --list`")
    if change.silence is not None:
        connection.execute(insert(alert_silences), _silence_row(change.silence))
    if change.clock_set_by_s:
        _follow_clock(connection, change.clock_set_by_s)
    _queue(connection, change.notices)
    for tried in change.tried_notices:
        connection.execute(update(notices).where(notices.c.key == tried.notice.key).values(_notice_row(tried)))
    if change.removed_settings is not None:
        _remove(connection, notice_settings, "user_id", [change.removed_settings])
    if change.settings is not None:
        row = {"user_id": change.settings.user_id, "body": _SETTINGS.dump_json(change.settings).decode()}
        _put(connection, notice_settings, "user_id", row)
    if change.told_until is not None:
        _put(connection, counters, "name", {"name": NOTICES_COUNTER, "value": change.told_until})
    if change.forget_before is not None:
        _forget(connection, change.forget_before)


def open_alerts(connection: Connection) -> list[AlertRecord]:
    query = select(alerts.c.body, alerts.c.owner).where(alerts.c.phase != AlertPhase.RESOLVED.value)
    return [_record(row.body, row.owner) for row in connection.execute(query.order_by(alerts.c.since, alerts.c.id))]


def alert_history(
    connection: Connection, owner: str | None, since: float, until: float, rule: str | None, limit: int
) -> list[AlertRecord]:
    query = select(alerts.c.body, alerts.c.owner).where(alerts.c.fired_at >= since, alerts.c.fired_at < until)
    if owner is not None:
        query = query.where(alerts.c.owner == owner)
    if rule is not None:
        query = query.where(alerts.c.rule == rule)
    rows = connection.execute(query.order_by(alerts.c.fired_at.desc(), alerts.c.id.desc()).limit(limit))
    return [_record(row.body, row.owner) for row in rows]


def all_silences(connection: Connection) -> list[Silence]:
    rows = connection.execute(select(alert_silences).order_by(alert_silences.c.created_at, alert_silences.c.id))
    return [Silence(row.id, row.rule, row.subject, row.reason, row.by, row.created_at, row.until) for row in rows]


def due_notices(connection: Connection, now: float, limit: int, each: int) -> list[QueuedNotice]:
    """Those that are due and that no older one of their lane holds back, which is to be tried again later. The first of
    each lane come before the second of any, so that a long lane keeps no other from being seen."""
    waiting = notices.c.due_at.is_not(None)
    held = (
        select(notices.c.lane, func.min(notices.c.at).label("at"))
        .where(waiting, notices.c.due_at > now)
        .group_by(notices.c.lane)
        .subquery()
    )
    oldest_first = (notices.c.at, notices.c.due_at, notices.c.key)
    place = func.row_number().over(partition_by=notices.c.lane, order_by=oldest_first).label("place")
    due = (
        select(notices.c.body, notices.c.due_at, notices.c.key, place)
        .outerjoin(held, held.c.lane == notices.c.lane)
        .where(waiting, notices.c.due_at <= now, held.c.at.is_(None) | (notices.c.at <= held.c.at))
        .subquery()
    )
    query = select(due.c.body).where(due.c.place <= each).order_by(due.c.place, due.c.due_at, due.c.key).limit(limit)
    return [_NOTICE.validate_json(row.body) for row in connection.execute(query)]


def next_notice_at(connection: Connection) -> float | None:
    found: float | None = connection.execute(select(func.min(notices.c.due_at))).scalar()
    return found


def notices_of(connection: Connection, user_id: str, limit: int) -> list[QueuedNotice]:
    query = select(notices.c.body).where(notices.c.user_id == user_id).order_by(notices.c.at.desc()).limit(limit)
    return [_NOTICE.validate_json(row.body) for row in connection.execute(query)]


def all_settings(connection: Connection) -> list[NoticeSettings]:
    return [_SETTINGS.validate_json(row.body) for row in connection.execute(select(notice_settings.c.body))]


def settings_of(connection: Connection, user_id: str) -> NoticeSettings | None:
    body = connection.execute(select(notice_settings.c.body).where(notice_settings.c.user_id == user_id)).scalar()
    return None if body is None else _SETTINGS.validate_json(body)


def told_until(connection: Connection) -> int | None:
    found: int | None = connection.execute(select(counters.c.value).where(counters.c.name == NOTICES_COUNTER)).scalar()
    return found


def remove_notices_of(connection: Connection, user_id: str) -> None:
    """Forget what a user was to be told: another user may get the name later."""
    _remove(connection, notice_settings, "user_id", [user_id])
    _remove(connection, notices, "user_id", [user_id])


def _queue(connection: Connection, added: Iterable[QueuedNotice]) -> None:
    by_key = {notice.key: notice for notice in added}
    known = set(connection.execute(select(notices.c.key).where(notices.c.key.in_(by_key))).scalars()) if by_key else ()
    rows = [
        {"key": key, "user_id": notice.user_id, "lane": notice.lane, "at": notice.at}
        | _notice_row(TriedNotice(notice, notice.not_before))
        for key, notice in by_key.items()
        if key not in known
    ]
    if rows:
        connection.execute(insert(notices), rows)


def _follow_clock(connection: Connection, set_by_s: float) -> None:
    waiting = notices.c.due_at.is_not(None)
    rows = connection.execute(select(notices.c.key, notices.c.due_at, notices.c.body).where(waiting)).all()
    connection.execute(update(notices).where(waiting).values(at=notices.c.at + set_by_s))
    for row in rows:
        notice = _NOTICE.validate_json(row.body)
        is_in_quiet_hours = notice.tries == 0 and notice.not_before > notice.at
        if not is_in_quiet_hours:
            due_at = row.due_at + set_by_s
            connection.execute(update(notices).where(notices.c.key == row.key).values(due_at=due_at))


def _notice_row(tried: TriedNotice) -> dict[str, Any]:
    notice = tried.notice
    return {"due_at": tried.due_at, "sent_at": notice.sent_at, "body": _NOTICE.dump_json(notice).decode()}


def _forget(connection: Connection, before: float) -> None:
    connection.execute(delete(alerts).where(alerts.c.resolved_at < before))
    connection.execute(delete(alert_silences).where(alert_silences.c.until < before))
    connection.execute(delete(notices).where(notices.c.at < before, notices.c.due_at.is_(None)))


def _record(body: str, owner: str) -> AlertRecord:
    """The owner is that of the column: the JSON still names a former user as before."""
    return replace(_RECORD.validate_json(body), owner=owner)


def _record_row(record: AlertRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "phase": record.phase.value,
        "rule": record.rule,
        "owner": record.owner,
        "since": record.since,
        "fired_at": record.fired_at,
        "resolved_at": record.resolved_at,
        "body": _RECORD.dump_json(record).decode(),
    }


def _silence_row(silence: Silence) -> dict[str, Any]:
    return {
        "id": silence.id,
        "rule": silence.rule,
        "subject": silence.subject,
        "reason": silence.reason,
        "by": silence.by,
        "created_at": silence.created_at,
        "until": silence.until,
    }


def _put(connection: Connection, table: Table, key: str, row: dict[str, Any]) -> None:
    if connection.execute(update(table).where(table.c[key] == row[key]).values(row)).rowcount == 0:
        connection.execute(insert(table), row)


def _remove(connection: Connection, table: Table, key: str, values: Iterable[str]) -> None:
    if gone := list(values):
        connection.execute(delete(table).where(table.c[key].in_(gone)))
