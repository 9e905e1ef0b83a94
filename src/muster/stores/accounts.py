"""Users and their tokens."""

import json
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, or_, select, update

from muster.domain.accounts import Token, TokenScope, User, UserRole
from muster.domain.errors import Conflict, MusterError, NotFound
from muster.stores.alerting import remove_notices_of
from muster.stores.secrets import remove_secrets_of
from muster.stores.tables import (
    alert_silences,
    alerts,
    events,
    experiments,
    former_users,
    jobs,
    models,
    node_marks,
    packages,
    request_keys,
    sweeps,
    templates,
    tokens,
    users,
)

_INSERT_USER = insert(users)
_INSERT_FORMER = insert(former_users)
_FORMER = select(former_users.c.id).where(former_users.c.name == bindparam("the_name")).order_by(former_users.c.id)
_OWNED = (
    *(jobs.c.owner, sweeps.c.owner, models.c.owner, packages.c.owner, experiments.c.owner, alerts.c.owner),
    *(request_keys.c.user, events.c.owner, events.c.actor, sweeps.c.stopped_by),
    *(templates.c.author, node_marks.c.by, alert_silences.c.by),
)
"""The columns that name a user as the one whom something belongs to, or who did it."""
_UPDATE_USER = (
    update(users)
    .where(users.c.name == bindparam("the_name"))
    .values({name: bindparam(name) for name in ("role", "created_at", "password_hash", "disabled", "groups", "id")})
)
_DELETE_USER = delete(users).where(users.c.name == bindparam("gone"))
_USER = select(users).where(users.c.name == bindparam("the_name"))
_USERS = select(users).order_by(users.c.name)

_INSERT_TOKEN = insert(tokens)
_USE_TOKEN = update(tokens).where(tokens.c.id == bindparam("used")).values(last_used_at=bindparam("at"))
_DELETE_TOKEN = delete(tokens).where(tokens.c.id == bindparam("gone"))
_BY_HASH = select(tokens).where(tokens.c.secret_hash == bindparam("hash"))
_TOKENS = select(tokens).order_by(tokens.c.created_at, tokens.c.id)
_TOKENS_OF_USER = _TOKENS.where(tokens.c.user == bindparam("the_user"))


def insert_user(connection: Connection, user: User) -> None:
    """What a former user of the same name has left gets another name, so that the new one inherits nothing."""
    former = connection.execute(_FORMER, {"the_name": user.name}).scalars().all()
    if former:
        renamed = f"{user.name}~{former[-1]}"
        for column in _OWNED:
            connection.execute(update(column.table).where(column == user.name).values({column.name: renamed}))
        connection.execute(delete(former_users).where(former_users.c.name == user.name))
    connection.execute(_INSERT_USER, {"name": user.name, **_user_values(user)})


def why_user_not_inserted(connection: Connection, user: User) -> Conflict | None:
    if user_by_name(connection, user.name) is None:
        return None
    return Conflict(f"user {user.name} already exists; choose another name or change that user")


def update_user(connection: Connection, user: User) -> None:
    if connection.execute(_UPDATE_USER, {"the_name": user.name, **_user_values(user)}).rowcount == 0:
        raise NotFound(f"there is no user {user.name}")


def remove_user(connection: Connection, name: str) -> None:
    """Foreign keys remove the user's tokens too. Jobs and packages stay in the history; secrets do not."""
    user = user_by_name(connection, name)
    if user is not None and user.id:
        remove_secrets_of(connection, user.id)
        remove_notices_of(connection, user.id)
        connection.execute(_INSERT_FORMER, {"id": user.id, "name": name})
    if connection.execute(_DELETE_USER, {"gone": name}).rowcount == 0:
        raise NotFound(f"there is no user {name}")


def user_by_name(connection: Connection, name: str) -> User | None:
    row = connection.execute(_USER, {"the_name": name}).first()
    return None if row is None else _user(row)


def all_users(connection: Connection) -> list[User]:
    return [_user(row) for row in connection.execute(_USERS)]


def note_token_use(connection: Connection, token_id: str, at: float) -> None:
    connection.execute(_USE_TOKEN, {"used": token_id, "at": at})


def insert_token(connection: Connection, token: Token) -> None:
    connection.execute(
        _INSERT_TOKEN,
        {
            "id": token.id,
            "user": token.user,
            "name": token.name,
            "secret_hash": token.secret_hash,
            "created_at": token.created_at,
            "expires_at": token.expires_at,
            "last_used_at": token.last_used_at,
            "scope": token.scope.value,
            "job_id": token.job_id,
        },
    )


def why_token_not_inserted(connection: Connection, token: Token) -> MusterError | None:
    if user_by_name(connection, token.user) is None:
        return NotFound(f"the token cannot be created: there is no user {token.user}")
    same = select(tokens.c.id).where(or_(tokens.c.id == token.id, tokens.c.secret_hash == token.secret_hash))
    if connection.execute(same).first() is not None:
        return Conflict(f"token {token.id}, or one with the same secret, already exists; create a new one")
    return None


def remove_token(connection: Connection, token_id: str) -> None:
    if connection.execute(_DELETE_TOKEN, {"gone": token_id}).rowcount == 0:
        raise NotFound(f"there is no token {token_id}")


def token_by_hash(connection: Connection, secret_hash: str) -> Token | None:
    row = connection.execute(_BY_HASH, {"hash": secret_hash}).first()
    return None if row is None else _token(row)


def tokens_of(connection: Connection, user: str | None) -> list[Token]:
    if user is None:
        return [_token(row) for row in connection.execute(_TOKENS)]
    return [_token(row) for row in connection.execute(_TOKENS_OF_USER, {"the_user": user})]


def _user_values(user: User) -> dict[str, Any]:
    return {
        "role": user.role.value,
        "created_at": user.created_at,
        "password_hash": user.password_hash,
        "disabled": user.disabled,
        "groups": json.dumps(user.groups),
        "id": user.id,
    }


def _user(row: Row[Any]) -> User:
    return User(
        name=row.name,
        role=UserRole(row.role),
        created_at=row.created_at,
        password_hash=row.password_hash,
        disabled=row.disabled,
        groups=tuple(json.loads(row.groups)),
        id=row.id,
    )


def _token(row: Row[Any]) -> Token:
    return Token(
        id=row.id,
        user=row.user,
        name=row.name,
        secret_hash=row.secret_hash,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        scope=TokenScope(row.scope),
        job_id=row.job_id,
    )
