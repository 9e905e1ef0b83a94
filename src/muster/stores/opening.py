"""Opens a store from a URL."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from sqlalchemy import URL, Engine
from sqlalchemy.exc import SQLAlchemyError

from muster.domain.errors import Unavailable
from muster.lib.backoff import exponential
from muster.ports.log_records import Recorder
from muster.stores.database_engines import (
    is_away,
    parse_url,
    reading_engine,
    sqlite_file,
    unavailable,
    writing_engine,
)
from muster.stores.log_outbox import Outbox, name_receiver
from muster.stores.schema_version import bring_to_head
from muster.stores.sql_store import SqlStore
from muster.stores.store_identity import ensure_store_id

_log = structlog.get_logger("stores")


async def open_store(url: str, epoch: int | None = None, recorder: Recorder | None = None) -> SqlStore:
    """Opens a store and upgrades its schema. Raises Invalid for an unusable URL, and Unavailable for a database that
    does not answer or whose schema is newer than this version of Muster. A server passes the epoch of its lease:
    the store then refuses every write once another server has taken over. With a recorder, records of its events wait
    in the outbox until a log server has them."""
    parsed = parse_url(url)
    writing, reading = await asyncio.to_thread(_prepare, parsed)
    outbox = None if recorder is None else Outbox(await asyncio.to_thread(_receiver, writing), recorder)
    return SqlStore(writing, reading, epoch, outbox)


def _receiver(engine: Engine) -> str:
    try:
        with engine.begin() as connection:
            return name_receiver(connection)
    except SQLAlchemyError as error:
        raise unavailable(error) from error


async def prepare_database(url: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Upgrades the schema. Waits for a database that does not answer, because it may start at the same time as this
    server. Raises the errors of `open_store` for everything that waiting does not change."""
    parsed, tries = parse_url(url), 0
    while True:
        try:
            _dispose(*await asyncio.to_thread(_prepare, parsed))
        except Unavailable as error:
            if not is_away(error.__cause__):
                raise
            tries += 1
            _log.warning("waiting for the database", error=error.message)
            await sleep(exponential(tries, first_s=0.2, limit_s=5.0))
        else:
            return


def upgrade_database(url: str) -> None:
    """Upgrades the schema without waiting for a database that does not answer."""
    _dispose(*_prepare(parse_url(url)))


def _prepare(url: URL) -> tuple[Engine, Engine]:
    _make_private_file(url)
    writing, reading = writing_engine(url), reading_engine(url)
    try:
        bring_to_head(writing, reading, url)
        ensure_store_id(writing, reading)
    except SQLAlchemyError as error:
        _dispose(writing, reading)
        raise unavailable(error) from error
    except BaseException:
        _dispose(writing, reading)
        raise
    return writing, reading


def _make_private_file(url: URL) -> None:
    """The file contains password and token hashes, so only its owner may read it. SQLite's log gets the same mode."""
    file = sqlite_file(url)
    if file is None:
        return
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"cannot create the database file {file}: {error.strerror}") from error


def _dispose(*engines: Engine) -> None:
    for engine in engines:
        engine.dispose()
