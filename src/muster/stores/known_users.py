"""Reads the users of a database as it is, without upgrading it. For checks that run beside a server, or without one."""

from sqlalchemy.exc import SQLAlchemyError

from muster.domain.accounts import User
from muster.domain.errors import Invalid
from muster.stores.accounts import all_users
from muster.stores.database_engines import parse_url, reading_engine, sqlite_file


def known_users(url: str) -> list[User] | None:
    """Returns None if there is no database yet, or if it cannot be read."""
    try:
        parsed = parse_url(url)
    except Invalid:
        return None
    file = sqlite_file(parsed)
    if file is not None and not file.exists():
        return None
    engine = reading_engine(parsed)
    try:
        with engine.connect() as connection:
            return all_users(connection)
    except SQLAlchemyError:
        return None
    finally:
        engine.dispose()
