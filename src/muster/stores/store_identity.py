"""The id of a store: a random number that is made when the store is first opened, and never changes.

Servers on one database have the same one. A database that was made from a backup gets another, because it need not know
all that the first one knows.
"""

import os

from sqlalchemy import Connection, Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from muster.stores.tables import STORE_COUNTER, counters

_FIND = select(counters.c.value).where(counters.c.name == STORE_COUNTER)


def read_store_id(connection: Connection) -> str:
    """Empty as long as there is none."""
    number = connection.execute(_FIND).scalar()
    return "" if number is None else f"{number:016x}"


def ensure_store_id(writing: Engine, reading: Engine) -> None:
    """Several servers may open a store at the same time, and the first one makes the id."""
    with reading.connect() as connection:
        if read_store_id(connection):
            return
    number = int.from_bytes(os.urandom(8)) >> 1
    try:
        with writing.begin() as connection:
            connection.execute(insert(counters).values(name=STORE_COUNTER, value=number, epoch=0))
    except IntegrityError:
        return


def forget_store_id(connection: Connection) -> None:
    connection.execute(delete(counters).where(counters.c.name == STORE_COUNTER))
