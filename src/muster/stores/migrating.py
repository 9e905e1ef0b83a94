"""Upgrades the schema of a database: `python -m muster.stores.migrating`, with the URL in the environment.

The server never imports this module: Alembic is heavy and rarely needed. Several servers may start at the same time, so
the upgrade runs in one transaction under a lock, and the second server finds nothing left to do.
"""

import os
import sys
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event

from muster.stores.database_engines import parse_url
from muster.stores.schema_creation import take_schema_lock
from muster.stores.schema_version import URL_VARIABLE


def migrate(url: str) -> None:
    engine = create_engine(parse_url(url))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_exclusive)
    try:
        with engine.begin() as connection:
            take_schema_lock(connection)
            upgrade(connection)
    finally:
        engine.dispose()


def upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _prepare_sqlite(connection: object, _record: object) -> None:
    # Foreign keys stay off here: batch migrations rebuild tables, which must not cascade.
    connection.isolation_level = None  # type: ignore[attr-defined]
    connection.execute("PRAGMA busy_timeout = 60000")  # type: ignore[attr-defined]


def _begin_exclusive(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


if __name__ == "__main__":
    try:
        migrate(os.environ[URL_VARIABLE])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
