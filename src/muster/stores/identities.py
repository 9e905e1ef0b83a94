"""Which users are linked to which people of identity providers."""

from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select

from muster.domain.accounts import Identity
from muster.domain.errors import Conflict, MusterError, NotFound
from muster.stores.accounts import user_by_name
from muster.stores.tables import identities

_INSERT = insert(identities)
_IS_THE_ONE = (identities.c.issuer == bindparam("the_issuer")) & (identities.c.subject == bindparam("the_subject"))
_ONE = select(identities).where(_IS_THE_ONE)
_DELETE = delete(identities).where(_IS_THE_ONE)
_ALL = select(identities).order_by(identities.c.user, identities.c.issuer, identities.c.subject)
_OF_USER = _ALL.where(identities.c.user == bindparam("the_user"))


def insert_identity(connection: Connection, identity: Identity) -> None:
    values = {
        "issuer": identity.issuer,
        "subject": identity.subject,
        "user": identity.user,
        "linked_at": identity.linked_at,
    }
    connection.execute(_INSERT, values)


def why_identity_not_inserted(connection: Connection, identity: Identity) -> MusterError | None:
    if user_by_name(connection, identity.user) is None:
        return NotFound(f"nobody can be linked to {identity.user}: there is no such user")
    known = identity_of(connection, identity.issuer, identity.subject)
    return None if known is None else Conflict(f"this person of {identity.issuer} is linked to {known.user} already")


def remove_identity(connection: Connection, identity: Identity) -> None:
    if connection.execute(_DELETE, _key(identity.issuer, identity.subject)).rowcount == 0:
        raise NotFound(f"{identity.user} is not linked to this person of {identity.issuer}")


def identity_of(connection: Connection, issuer: str, subject: str) -> Identity | None:
    row = connection.execute(_ONE, _key(issuer, subject)).first()
    return None if row is None else _identity(row)


def identities_of(connection: Connection, user: str | None) -> list[Identity]:
    if user is None:
        return [_identity(row) for row in connection.execute(_ALL)]
    return [_identity(row) for row in connection.execute(_OF_USER, {"the_user": user})]


def _key(issuer: str, subject: str) -> dict[str, Any]:
    return {"the_issuer": issuer, "the_subject": subject}


def _identity(row: Row[Any]) -> Identity:
    return Identity(issuer=row.issuer, subject=row.subject, user=row.user, linked_at=row.linked_at)
