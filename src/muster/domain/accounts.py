"""Users, their tokens, and the code packages they own."""

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
    """Virtual clusters and folders grant access to groups. Groups have no other effect."""

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
        """Whether a login created this token, as opposed to `muster tokens create`."""
        return self.id.startswith(SESSION_PREFIX)


@dataclass(frozen=True, slots=True)
class Package:
    """A code package, identified by the digest of its archive. Every owner who uploaded it has their own record."""

    digest: str
    owner: str
    size_bytes: int
    created_at: float
