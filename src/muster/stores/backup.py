"""Copies of all rows: a consistent snapshot of a running database, and a database made from such a snapshot.

Rows are JSON lines, the same for SQLite and PostgreSQL, so that a backup of one may be restored into the other.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from muster.domain.errors import Conflict
from muster.domain.events import Event
from muster.stores.database_engines import parse_url, unavailable, writing_engine
from muster.stores.events import insert_events, reserve_numbers
from muster.stores.lease import is_held
from muster.stores.log_outbox import rename_receiver
from muster.stores.store_identity import forget_store_id
from muster.stores.tables import EVENT_COUNTER, HEAD, RESTORED_COUNTER, counters, jobs, metadata, server_lease

_BATCH = 500
Rows = Iterator[dict[str, Any]]


def dump(url: str, write: Callable[[str, Iterable[str]], None]) -> dict[str, int]:
    """Call `write` with the name of each table and its rows, all as they were at one moment. The server may run
    meanwhile. Returns the number of rows of each table."""
    engine = _snapshot_engine(url)
    counts: dict[str, int] = {}

    def lines(table: str, rows: Rows) -> Iterator[str]:
        for row in rows:
            counts[table] += 1
            yield json.dumps(row, ensure_ascii=False) + "\n"

    try:
        with engine.begin() as connection:
            for table in metadata.sorted_tables:
                counts[table.name] = 0
                found = connection.execution_options(yield_per=_BATCH).execute(select(table))
                write(table.name, lines(table.name, (dict(row._mapping) for row in found)))
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()
    return counts


def load(url: str, schema: str, read: Callable[[str], Iterable[str]], *, replace: bool) -> str:
    """Fill the database with the rows that `read` returns for each table. The next server on it starts held, in its own
    home folder. Returns the identity of the servers that used the database, empty if none did. Raises
    Conflict if the rows have another schema, a server uses the database, or it has jobs and may not be replaced."""
    if schema != HEAD:
        raise Conflict(
            f"the backup has schema {schema}, and this version of Muster has {HEAD}",
            hint="restore it with the version that made it, and then upgrade",
        )
    engine = writing_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            _check_unused(connection, replace=replace)
            epoch = connection.execute(select(func.max(counters.c.epoch))).scalar() or 0
            for table in reversed(metadata.sorted_tables):
                connection.execute(delete(table))
            for table in metadata.sorted_tables:
                for batch in _batches(read(table.name)):
                    connection.execute(insert(table), batch)
            identity = connection.execute(select(server_lease.c.identity)).scalar() or ""
            _mark_restored(connection, epoch)
            return str(identity)
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()


def release(url: str, released: Event) -> bool:
    """Let the server on a restored database act, and record the event. Returns whether it was held."""
    engine = writing_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            removed = connection.execute(delete(counters).where(counters.c.name == RESTORED_COUNTER))
            if removed.rowcount == 1:
                insert_events(connection, [dataclasses.replace(released, seq=reserve_numbers(connection, 1))])
            return removed.rowcount == 1
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()


def _mark_restored(connection: Connection, epoch: int) -> None:
    """Nobody holds the restored lease, it names nothing of the place where the backup was made, and epochs go on from
    where the replaced database was. It is another store now."""
    nobody = {"holder": "", "address": "", "key": "", "identity": "", "home": ""}
    connection.execute(server_lease.update().values(expires_at=0.0, has_home_lock=False, **nobody))
    later = counters.c.epoch + 0 if epoch == 0 else epoch
    connection.execute(counters.update().where(counters.c.name == EVENT_COUNTER).values(epoch=later))
    forget_store_id(connection)
    connection.execute(delete(counters).where(counters.c.name == RESTORED_COUNTER))
    connection.execute(insert(counters), [{"name": RESTORED_COUNTER, "value": 1, "epoch": 0}])
    rename_receiver(connection)


def _check_unused(connection: Connection, *, replace: bool) -> None:
    if is_held(connection):
        raise Conflict("a server uses the database", hint="stop it first; its jobs continue")
    found = connection.execute(select(func.count()).select_from(jobs)).scalar_one()
    if found and not replace:
        raise Conflict(
            f"the database has {found} jobs", hint="`--replace` deletes everything in it; make a backup of it first"
        )


def _batches(lines: Iterable[str]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for line in lines:
        batch.append(json.loads(line))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _snapshot_engine(url: str) -> Engine:
    parsed = parse_url(url)
    if parsed.get_backend_name() == "postgresql":
        return create_engine(parsed, isolation_level="REPEATABLE READ")
    engine = create_engine(parsed)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA busy_timeout = 15000")
