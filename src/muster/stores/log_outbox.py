"""The outbox of records for the log server. A record is written in the transaction of its event, and removed when the
log server has it.

The receiver is the name under which the log server knows this database. It is part of each record, so that one that was
sent again keeps its name after a restore, while the numbers that are used again then come under another.
"""

import json
from collections.abc import Sequence
from secrets import randbits

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from muster.domain.events import Event
from muster.domain.log_records import LogRecord
from muster.ports.log_records import Recorder
from muster.ports.store import Change
from muster.stores.tables import RECEIVER_COUNTER, counters, log_outbox

DROPPED = "receiver.dropped"
"""The kind of the notice that records are missing."""
_BITS = 48
_INSERT = insert(log_outbox)
_REMOVE = delete(log_outbox).where(log_outbox.c.seq <= bindparam("last"))
_OLDEST = select(log_outbox).order_by(log_outbox.c.seq).limit(bindparam("most"))
_RECEIVER = select(counters.c.value).where(counters.c.name == RECEIVER_COUNTER)


class Outbox:
    """Writes the records of committed changes, if there is somebody who makes them."""

    def __init__(self, receiver: str, recorder: Recorder) -> None:
        self._receiver = receiver
        self._recorder = recorder

    def write(self, connection: Connection, changes: Sequence[Change], numbered: Sequence[Sequence[Event]]) -> None:
        rows = [
            {"seq": event.seq, "receiver": self._receiver, "at": event.at, "body": body}
            for change, events in zip(changes, numbered, strict=True)
            for event in events
            if (body := self._recorder(change, event)) is not None
        ]
        if rows:
            connection.execute(_INSERT, rows)


def receiver_of(connection: Connection) -> str:
    """The name of this database at the log server; empty if it has none yet."""
    found = connection.execute(_RECEIVER).scalar()
    return "" if found is None else f"{found:012x}"


def name_receiver(connection: Connection) -> str:
    """Give the database a name, if it has none yet."""
    if not receiver_of(connection):
        connection.execute(insert(counters), [{"name": RECEIVER_COUNTER, "value": randbits(_BITS), "epoch": 0}])
    return receiver_of(connection)


def rename_receiver(connection: Connection) -> None:
    """Give the database a new name, if it has one: it will use numbers again that were used under the old one."""
    connection.execute(update(counters).where(counters.c.name == RECEIVER_COUNTER).values(value=randbits(_BITS)))


def oldest_records(connection: Connection, most: int) -> list[LogRecord]:
    return [LogRecord(row.receiver, row.seq, row.at, row.body) for row in connection.execute(_OLDEST, {"most": most})]


def count_records(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(log_outbox)).scalar_one()


def remove_delivered(connection: Connection, last: int) -> None:
    connection.execute(_REMOVE, {"last": last})


def drop_oldest(connection: Connection, keep: int) -> None:
    """Remove the oldest records but `keep`. The last of those that are removed becomes a notice of how many are
    missing, which counts what an earlier notice has counted."""
    surplus = count_records(connection) - keep
    if surplus < 1:
        return
    last = connection.execute(select(log_outbox).order_by(log_outbox.c.seq).offset(surplus - 1).limit(1)).one()
    first = connection.execute(_OLDEST, {"most": 1}).one()
    earlier = json.loads(first.body)
    missing = surplus + (earlier["dropped"] - 1 if earlier["kind"] == DROPPED else 0)
    notice = json.dumps({"kind": DROPPED, "at": json.loads(last.body)["at"], "dropped": missing})
    remove_delivered(connection, last.seq - 1)
    connection.execute(update(log_outbox).where(log_outbox.c.seq == last.seq).values(body=notice))
