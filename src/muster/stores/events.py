"""Events and their sequence numbers.

Numbers come from one counter row, which every write transaction updates first. On PostgreSQL the lock on that row
serialises the writers of several servers, so numbers follow the order of commits, and a stream that resumes after a
number never misses a smaller one that was committed later. A number may be skipped, but never reused.

The same row has the epoch of the server that may write. It is compared in the statement that reserves numbers, so a
server that has lost its lease can commit nothing, even if it waited for the lock while another server took over.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update

from muster.domain.errors import Superseded
from muster.domain.events import Event
from muster.stores.codec import event_of, event_row
from muster.stores.tables import EVENT_COUNTER, RESTORED_COUNTER, counters, events

_RESERVE = (
    update(counters)
    .where(counters.c.name == EVENT_COUNTER)
    .values(value=counters.c.value + bindparam("amount"))
    .returning(counters.c.value)
)
_RESERVE_IN_EPOCH = _RESERVE.where(counters.c.epoch == bindparam("the_epoch"))
_INSERT = insert(events)
_LAST = select(counters.c.value).where(counters.c.name == EVENT_COUNTER)
_RESTORED = select(counters.c.value).where(counters.c.name == RESTORED_COUNTER)
_FORGET = delete(events).where(
    events.c.job_id == bindparam("gone"), or_(events.c.kind.like("job.%"), events.c.kind.like("task.%"))
)


def reserve_numbers(connection: Connection, amount: int, epoch: int | None = None) -> int:
    """The first of `amount` new numbers. This also takes the lock that serialises writers. Raises Superseded if the
    epoch is over; without an epoch, it is not checked."""
    if epoch is None:
        last: int = connection.execute(_RESERVE, {"amount": amount}).scalar_one()
        return last - amount + 1
    reserved: int | None = connection.execute(_RESERVE_IN_EPOCH, {"amount": amount, "the_epoch": epoch}).scalar()
    if reserved is None:
        raise Superseded("this server may not write: another server holds the lease", hint="send the request again")
    return reserved - amount + 1


def insert_events(connection: Connection, numbered: Sequence[Event]) -> None:
    if numbered:
        connection.execute(_INSERT, [event_row(event) for event in numbered])


def forget_job_events(connection: Connection, job_id: str) -> None:
    connection.execute(_FORGET, {"gone": job_id})


def select_events(
    connection: Connection, *, after: int, job_id: str | None, prefix: str | None, limit: int
) -> list[Event]:
    query = select(events).where(events.c.seq > after).order_by(events.c.seq).limit(limit)
    if job_id is not None:
        query = query.where(events.c.job_id == job_id)
    if prefix:
        query = query.where(events.c.kind.startswith(prefix, autoescape=True))
    return [event_of(row) for row in connection.execute(query)]


def last_event(connection: Connection) -> int:
    last: int = connection.execute(_LAST).scalar_one()
    return last


def is_restored(connection: Connection) -> bool:
    return connection.execute(_RESTORED).scalar() is not None
