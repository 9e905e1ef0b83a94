"""Encrypts all secrets of a database anew, in one transaction, for `muster server rotate-secrets-key`."""

import dataclasses
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from muster.domain.events import Event
from muster.domain.secrets import Secret
from muster.stores.database_engines import parse_url, unavailable, writing_engine
from muster.stores.events import insert_events, reserve_numbers
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


def reseal(url: str, resealed: Callable[[Secret], str], rotated: Event) -> int:
    """`resealed` returns the new encrypted value of a secret. The event is recorded with them. Returns how many there
    are."""
    engine = writing_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            insert_events(connection, [dataclasses.replace(rotated, seq=reserve_numbers(connection, 1))])
            return reseal_all(connection, resealed)
    except SQLAlchemyError as error:
        raise unavailable(error) from error
    finally:
        engine.dispose()
