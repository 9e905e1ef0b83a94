"""Reads audit events, newest first.

They are among all other events, which are read by their numbers from the newest on. One call looks at so many events at
most; the cursor of its page says where it stopped, so that a filter that hardly anything matches costs no more.
"""

from sqlalchemy import ColumnElement, Connection, select

from muster.domain.events import Event
from muster.ports.store import AuditFilter, Page
from muster.stores.codec import event_of
from muster.stores.events import last_event
from muster.stores.tables import events

_STEP = 50_000
_STEPS = 8
_AUDIT = "audit."


def page_of_audit(connection: Connection, where: AuditFilter, limit: int, before: int | None) -> Page[Event]:
    top = last_event(connection) + 1 if before is None else before
    found: list[Event] = []
    for _ in range(_STEPS):
        bottom = top - _STEP
        query = (
            select(events)
            .where(events.c.seq < top, events.c.seq >= bottom, *_conditions(where))
            .order_by(events.c.seq.desc())
            .limit(limit - len(found))
        )
        found += [event_of(row) for row in connection.execute(query)]
        if len(found) >= limit:
            return Page(found, str(found[-1].seq))
        if _is_done(connection, bottom, where.since):
            return Page(found)
        top = bottom
    return Page(found, str(top))


def _conditions(where: AuditFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [events.c.kind.startswith(f"{_AUDIT}{where.prefix}", autoescape=True)]
    if where.about is not None:
        conditions.append((events.c.actor == where.about) | (events.c.owner == where.about))
    if where.actor is not None:
        conditions.append(events.c.actor == where.actor)
    if where.since is not None:
        conditions.append(events.c.at >= where.since)
    if where.until is not None:
        conditions.append(events.c.at < where.until)
    return conditions


def _is_done(connection: Connection, bottom: int, since: float | None) -> bool:
    """Whether there is nothing below this number, or nothing that is new enough."""
    newest = select(events.c.at).where(events.c.seq < bottom).order_by(events.c.seq.desc()).limit(1)
    at = connection.execute(newest).scalar()
    return at is None or (since is not None and at < since)
