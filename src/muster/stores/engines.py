"""How each database is spoken to: the URL, the connections, what a failure means.

SQLite: write-ahead log with full sync, so readers never wait for the writer and what was acknowledged survives a
power cut. The driver's own transaction handling is off, because it begins late and breaks savepoints; a write
transaction begins IMMEDIATE, so it never has to give up halfway for another process's write.
PostgreSQL: psycopg, with deadlines on everything that can wait.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from muster.domain.errors import Invalid, Unavailable

READERS = 4
"""Threads and connections for reads."""

_BUSY_MS = 15_000
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -16000",
)
_POSTGRESQL_ARGUMENTS = {
    "application_name": "muster",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 30_000,
    "options": "-c lock_timeout=15s -c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
}


def parse_url(text: str) -> URL:
    """The URL with its driver, or Invalid. Never shown with its password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # `from None`: the parser's own message repeats the text, password and all.
        raise Invalid("the database URL cannot be read", hint=_FORMS) from None
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise Invalid("SQLite needs a file: a database in memory would not outlive the server", hint=_FORMS)
        return url.set(drivername="sqlite+pysqlite")
    raise Invalid(f"databases of kind {kind} are not supported", hint=_FORMS)


_FORMS = "sqlite:////path/to/muster.db or postgresql://user:password@host/database"


def sqlite_file(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def writing_engine(url: URL) -> Engine:
    """One connection, used by one thread."""
    options: dict[str, Any] = {"pool_pre_ping": True, **_options(url)}
    if url.get_backend_name() == "sqlite":
        # A file does not go away as a server does, and every transaction here is ended by hand.
        options |= {"pool_pre_ping": False, "pool_reset_on_return": None}
    # Elsewhere a connection is tried before each transaction: a write that fails halfway cannot simply be done again.
    engine = create_engine(url, pool_size=1, max_overflow=0, **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def reading_engine(url: URL) -> Engine:
    """Every statement sees what is committed at its moment; none holds a transaction open."""
    options = {**_options(url), "pool_reset_on_return": None}
    if url.get_backend_name() == "postgresql":
        options["isolation_level"] = "AUTOCOMMIT"
    engine = create_engine(url, pool_size=READERS, max_overflow=0, **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def unavailable(error: SQLAlchemyError) -> Unavailable:
    detail = error.orig if isinstance(error, DBAPIError) else error
    first_line = str(detail).strip().partition("\n")[0]
    return Unavailable(f"the database does not answer: {first_line}", hint="it is tried afresh with the next request")


def _options(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"check_same_thread": False}}
    return {"connect_args": _POSTGRESQL_ARGUMENTS}


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
