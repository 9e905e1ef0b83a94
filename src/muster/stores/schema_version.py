"""Checks at every start, in plain SQL and without Alembic, whether the schema is the one that this code needs."""

import os
import subprocess
import sys

from sqlalchemy import URL, Engine, inspect, text

from muster.domain.errors import Unavailable
from muster.stores.schema_creation import create_in_empty_database
from muster.stores.tables import HEAD

URL_VARIABLE = "MUSTER_MIGRATE_URL"
"""The URL is passed in the environment, never as an argument: it may contain a password, and arguments are public."""

_DEADLINE_S = 600.0


def bring_to_head(writing: Engine, reading: Engine, url: URL) -> None:
    found = _revision(reading)
    if found is None:
        create_in_empty_database(writing)
        found = _revision(reading)
    if found is None or found < HEAD:
        _migrate_in_subprocess(url)
        found = _revision(reading)
    if found != HEAD:
        raise Unavailable(
            f"the database has schema {found}, but this version of Muster supports only schemas up to {HEAD}",
            hint="upgrade this server, or restore the database from a backup made by this version",
        )


def _revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return revision


def _migrate_in_subprocess(url: URL) -> None:
    environment = {**os.environ, URL_VARIABLE: url.render_as_string(hide_password=False)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "muster.stores.migrating"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"the upgrade of the database to schema {HEAD} took longer than {_DEADLINE_S:.0f} s"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Unavailable(f"the database could not be upgraded to schema {HEAD}: {lines[-1]}")
