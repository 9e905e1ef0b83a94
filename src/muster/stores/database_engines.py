"""SQLAlchemy engines for SQLite and PostgreSQL: URLs, connections and errors.

SQLite uses a write-ahead log with full sync, so readers never wait for the writer, and acknowledged writes survive a
power failure. The driver's own transaction handling is off, because it begins late and breaks savepoints. A write
transaction begins IMMEDIATE, so that it never has to abort halfway because another process writes.
PostgreSQL is used through psycopg, with a timeout on everything that can block.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from muster.domain.errors import Invalid, StorageFull, Unavailable

READERS = 4
"""The number of threads and connections for reads."""

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
    "options": "-c lock_timeout=15s -c statement_timeout=60s -c idle_in_transaction_session_timeout=5s",
}
_DISK_FULL = "53100"
"""PostgreSQL's own code. SQLite says it in words: "database or disk is full"."""
_STARTING_OR_STOPPING = ("57P01", "57P02", "57P03")


def parse_url(text: str) -> URL:
    """The URL with its driver. Raises Invalid, without showing the password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # `from None`: the parser's own message contains the text with the password.
        raise Invalid("the database URL is not valid", hint=_FORMS) from None
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise Invalid("SQLite needs a file: a database in memory would be lost when the server stops", hint=_FORMS)
        return url.set(drivername="sqlite+pysqlite")
    raise Invalid(f"databases of kind {kind} are not supported", hint=_FORMS)


_FORMS = "sqlite:////path/to/muster.db or postgresql://user:password@host/database"


def sqlite_file(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def writing_engine(url: URL) -> Engine:
    """An engine with one connection, which one thread uses."""
    options: dict[str, Any] = {"pool_pre_ping": True, **_options(url)}
    if url.get_backend_name() == "sqlite":
        # A file does not disconnect as a server does, and every transaction is ended explicitly.
        options |= {"pool_pre_ping": False, "pool_reset_on_return": None}
    # Other databases are pinged before each transaction, because a write that fails halfway cannot simply be repeated.
    engine = create_engine(url, pool_size=1, max_overflow=0, **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def reading_engine(url: URL) -> Engine:
    """An engine in autocommit mode: every statement sees the latest committed data and holds no transaction open."""
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
    if "disk is full" in first_line or getattr(detail, "sqlstate", None) == _DISK_FULL:
        return StorageFull("the server's database")
    return Unavailable(f"the database does not answer: {first_line}", hint="the next request connects again")


def is_away(error: BaseException | None) -> bool:
    """Whether a database server does not run yet, or not any more. A wrong name or password is another matter."""
    if not isinstance(error, OperationalError) or error.orig is None or not hasattr(error.orig, "sqlstate"):
        return False
    state = error.orig.sqlstate
    return state in _STARTING_OR_STOPPING or (state is None and "password" not in str(error.orig))


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
