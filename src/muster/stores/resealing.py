"""Encrypts all secrets of a database anew, in one transaction, for `muster server rotate-secrets-key`."""

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from muster.domain.secrets import Secret
from muster.stores.database_engines import parse_url, unavailable, writing_engine
from muster.stores.secrets import all_sealed_secrets, reseal_all


def sealed(url: str) -> list[Secret]:
    engine = writing_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            return all_sealed_secrets(connection)
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()


def reseal(url: str, resealed: Callable[[Secret], str]) -> int:
    """`resealed` returns the new encrypted value of a secret. Returns how many there are."""
    engine = writing_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            return reseal_all(connection, resealed)
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()
