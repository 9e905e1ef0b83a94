"""People and programs: users, tokens, packages they own."""

from dataclasses import dataclass
from enum import StrEnum


class UserRole(StrEnum):
    ADMIN = "admin"
    USER = "user"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    role: UserRole
    created_at: float
    password_hash: str | None = None
    disabled: bool = False
    groups: tuple[str, ...] = ()
    """What virtual clusters let in together; nothing else hangs on them."""

    @property
    def is_admin(self) -> bool:
        return self.role is UserRole.ADMIN


SESSION_PREFIX = "s-"


@dataclass(frozen=True, slots=True)
class Token:
    """A personal token or a login session. Only the hash of the secret is kept."""

    id: str
    user: str
    name: str
    secret_hash: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None

    @property
    def is_session(self) -> bool:
        """Made by a login rather than by hand."""
        return self.id.startswith(SESSION_PREFIX)


@dataclass(frozen=True, slots=True)
class Package:
    """A code package by the digest of its archive, once for every owner who uploaded it."""

    digest: str
    owner: str
    size_bytes: int
    created_at: float
