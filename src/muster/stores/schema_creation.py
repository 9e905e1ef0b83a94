"""Creates the schema of a database that is empty, directly at the newest version.

The migrations would lead to the same schema, which a test checks, but they take most of the time of a first start.
"""

from sqlalchemy import Column, Connection, Engine, MetaData, PrimaryKeyConstraint, String, Table, inspect

from muster.stores.tables import EVENT_COUNTER, HEAD, SERVER_LEASE, counters, metadata, server_lease

SCHEMA_LOCK = 0x6D75737465720001
"""The number of the advisory lock: `muster` in ASCII, then a 1, so that no other program is likely to use it."""

_alembic_version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def create_in_empty_database(writing: Engine) -> None:
    """Does nothing if the database has tables already. Several servers may start at the same time, so everything
    happens in one transaction under the lock of the migrations, and the second server finds nothing left to do."""
    with writing.begin() as connection:
        take_schema_lock(connection)
        if not inspect(connection).get_table_names():
            _create(connection)


def take_schema_lock(connection: Connection) -> None:
    """A write transaction of SQLite excludes all others by itself."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    connection.execute(counters.insert().values(name=EVENT_COUNTER, value=0))
    connection.execute(
        server_lease.insert().values(
            name=SERVER_LEASE, epoch=0, holder="", address="", expires_at=0.0, identity="", home="", has_home_lock=False
        )
    )
    _alembic_version.create(connection, checkfirst=False)
    connection.execute(_alembic_version.insert().values(version_num=HEAD))
