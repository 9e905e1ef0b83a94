"""Secrets of users. The store never sees a value that is not encrypted."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from muster.domain.errors import NotFound
from muster.domain.secrets import Secret, SecretKind
from muster.stores.tables import secrets, users

_SHOWN = (
    select(*(column for column in secrets.c if column.name != "sealed"), users.c.name.label("owner"))
    .join(users, users.c.id == secrets.c.owner_id)
    .order_by(users.c.name, secrets.c.name)
)
_REPLACED = ("kind", "size_bytes", "updated_at", "sealed")


def put_secret(connection: Connection, secret: Secret) -> None:
    """Replace the value if there is one of that name. The time of its creation stays."""
    values = {
        "owner_id": secret.owner_id,
        "name": secret.name,
        "kind": secret.kind.value,
        "size_bytes": secret.size_bytes,
        "created_at": secret.created_at,
        "updated_at": secret.updated_at,
        "sealed": secret.sealed,
    }
    replaced = {name: values[name] for name in _REPLACED}
    if connection.execute(update(secrets).where(*_key(secret.owner_id, secret.name)).values(replaced)).rowcount == 0:
        connection.execute(insert(secrets), values)


def remove_secret(connection: Connection, owner_id: str, name: str) -> None:
    if connection.execute(delete(secrets).where(*_key(owner_id, name))).rowcount == 0:
        raise NotFound(f"there is no secret {name!r}")


def remove_secrets_of(connection: Connection, owner_id: str) -> None:
    connection.execute(delete(secrets).where(secrets.c.owner_id == owner_id))


def remove_secrets_of_job(connection: Connection, job_id: str) -> None:
    connection.execute(delete(secrets).where(secrets.c.name.startswith(f"{job_id}.", autoescape=True)))


def listed_secrets(connection: Connection, owner_id: str | None) -> list[Secret]:
    query = _SHOWN if owner_id is None else _SHOWN.where(secrets.c.owner_id == owner_id)
    return [_secret(row, row.owner, "") for row in connection.execute(query)]


def all_sealed_secrets(connection: Connection) -> list[Secret]:
    sealed = select(secrets, users.c.name.label("owner")).join(users, users.c.id == secrets.c.owner_id)
    found = connection.execute(sealed.order_by(users.c.name, secrets.c.name))
    return [_secret(row, row.owner, row.sealed) for row in found]


def sealed_secrets(connection: Connection, owner_id: str, names: Sequence[str]) -> list[Secret]:
    query = select(secrets).where(secrets.c.owner_id == owner_id, secrets.c.name.in_(names))
    return [_secret(row, "", row.sealed) for row in connection.execute(query)]


def count_secrets(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(secrets)).scalar_one()


def reseal_all(connection: Connection, reseal: Callable[[Secret], str]) -> int:
    """Encrypt every value anew, inside a transaction of the caller. Returns how many there are."""
    found = [_secret(row, "", row.sealed) for row in connection.execute(select(secrets).with_for_update())]
    for secret in found:
        connection.execute(update(secrets).where(*_key(secret.owner_id, secret.name)).values(sealed=reseal(secret)))
    return len(found)


def _key(owner_id: str, name: str) -> tuple[Any, Any]:
    return secrets.c.owner_id == owner_id, secrets.c.name == name


def _secret(row: Any, owner: str, sealed: str) -> Secret:
    return Secret(
        owner_id=row.owner_id,
        name=row.name,
        kind=SecretKind(row.kind),
        size_bytes=row.size_bytes,
        created_at=row.created_at,
        updated_at=row.updated_at,
        owner=owner,
        sealed=sealed,
    )
