"""Users, their tokens, and the code packages they own."""

from dataclasses import dataclass
from enum import StrEnum

USER_ID_PREFIX = "u-"
"""The ids of users begin with it. Those of users that an earlier version created do not."""


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
    id: str = ""
    """It never changes, and no other user ever has it, not even one with the same name later."""

    @property
    def is_admin(self) -> bool:
        return self.role is UserRole.ADMIN


@dataclass(frozen=True, slots=True)
class Identity:
    """The link between a user and a person at an identity provider. Issuer and subject together never change and never
    belong to another person, whereas a name may be given to somebody else one day."""

    issuer: str
    subject: str
    user: str
    linked_at: float


SESSION_PREFIX = "s-"


class TokenScope(StrEnum):
    """What a token allows, at most: its user may be allowed less."""

    READ = "read"
    SUBMIT = "submit"
    """The token may read, and submit and control jobs."""
    ADMIN = "admin"
    """Everything that the user may do."""


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
    scope: TokenScope = TokenScope.ADMIN
    job_id: str | None = None
    """The only job that the token is for; None if it is for all."""

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
