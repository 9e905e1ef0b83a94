"""The lease in SQL: one row with the holder, the epoch, and the expiry by the database's own clock.

The epoch is kept a second time in the row of the event counter, which every write transaction updates first
(`stores/events.py`). Taking over updates that row too, so it waits for a write that is under way, and every later write
of the old holder is refused.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, case, cast, func, literal_column, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import ColumnElement

from muster.domain.errors import Unavailable
from muster.ports.lease import Claim, Term
from muster.stores.database_engines import parse_url, unavailable, writing_engine
from muster.stores.tables import EVENT_COUNTER, SERVER_LEASE, counters, server_lease

LEASE_S = 3.5
"""How long a lease is valid without being renewed. A server that died is replaced after that time."""

T = TypeVar("T")


class SqlLease:
    """Implements `ports.lease.Lease` with a connection of its own, so that a long write does not delay a renewal."""

    def __init__(self, url: str, lease_s: float = LEASE_S) -> None:
        self._engine: Engine = writing_engine(parse_url(url))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="muster-lease")
        self._lease_s = lease_s

    async def current(self) -> Term:
        return await self._run(_current)

    async def acquire(self, claim: Claim) -> Term | None:
        return await self._run(lambda connection: _acquire(connection, claim, self._lease_s))

    async def renew(self, epoch: int, address: str) -> bool:
        return await self._run(lambda connection: _extend(connection, epoch, self._lease_s, address=address))

    async def release(self, epoch: int) -> None:
        await self._run(lambda connection: _extend(connection, epoch, -1.0))

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)
        self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)
        except RuntimeError as error:
            raise Unavailable("the lease is closed") from error

    def _transaction(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._engine.begin() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise unavailable(error) from error


def _current(connection: Connection) -> Term:
    return _term(connection.execute(_select(connection)).one())


def _acquire(connection: Connection, claim: Claim, lease_s: float) -> Term | None:
    found = connection.execute(_select(connection).with_for_update()).one()
    if found.is_held and not _is_dead(found, claim):
        return None
    epoch = connection.execute(
        update(counters)
        .where(counters.c.name == EVENT_COUNTER)
        .values(epoch=_later(counters.c.epoch + 1, cast(_now(connection), counters.c.epoch.type)))
        .returning(counters.c.epoch)
    ).scalar_one()
    connection.execute(
        update(server_lease)
        .where(server_lease.c.name == SERVER_LEASE)
        .values(
            epoch=epoch,
            holder=claim.holder,
            address=claim.address,
            identity=claim.identity,
            home=claim.home,
            has_home_lock=claim.has_home_lock,
            key=claim.key,
            expires_at=_now(connection) + lease_s,
        )
    )
    return _current(connection)


def _later(next_epoch: ColumnElement[int], now_s: ColumnElement[int]) -> ColumnElement[int]:
    """Epochs also rise with the clock: a database that was restored from a backup must not begin an epoch that nodes
    have seen before."""
    return case((next_epoch > now_s, next_epoch), else_=now_s)


def _is_dead(found: Row[Any], claim: Claim) -> bool:
    """The holder had the lock of this very home folder, and now the claimant has it: the holder is dead."""
    is_same_home = (found.identity, found.home) == (claim.identity, claim.home)
    return bool(found.has_home_lock and claim.has_home_lock and is_same_home)


def _extend(connection: Connection, epoch: int, lease_s: float, **values: str) -> bool:
    changed = connection.execute(
        update(server_lease)
        .where(server_lease.c.name == SERVER_LEASE, server_lease.c.epoch == epoch)
        .values(expires_at=_now(connection) + lease_s, **values)
    )
    return changed.rowcount == 1


def is_held(connection: Connection) -> bool:
    """Whether a server holds the lease now."""
    return _current(connection).is_held


def _select(connection: Connection) -> Any:
    is_held = (server_lease.c.expires_at > _now(connection)).label("is_held")
    return select(server_lease, is_held).where(server_lease.c.name == SERVER_LEASE)


def _term(row: Row[Any]) -> Term:
    return Term(row.epoch, row.holder, row.address, row.identity, row.home, bool(row.is_held), row.key)


def _now(connection: Connection) -> ColumnElement[float]:
    """The seconds since 1970 by the database's clock."""
    if connection.dialect.name == "sqlite":
        return literal_column("((julianday('now') - 2440587.5) * 86400.0)")
    return func.extract("epoch", func.clock_timestamp()).cast(server_lease.c.expires_at.type)
