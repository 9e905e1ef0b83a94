"""Users, tokens and secrets as the server answered them, typed and frozen like the views of `views`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Self, cast

from muster.client.views import Raw, instant

if TYPE_CHECKING:
    from muster.api.accounts import NewTokenOut, TokenOut, UserOut
    from muster.api.secrets import SecretOut


@dataclass(frozen=True, slots=True)
class UserView:
    name: str
    role: str
    disabled: bool
    groups: Sequence[str]
    created_at: datetime | None
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "UserOut") -> Self:
        return cls(
            name=raw["name"],
            role=raw.get("role") or "",
            disabled=bool(raw.get("disabled")),
            groups=tuple(raw.get("groups") or ()),
            created_at=instant(raw.get("createdAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class SecretView:
    """A secret without its value, which cannot be read."""

    name: str
    owner: str
    kind: str
    size_bytes: int
    created_at: datetime | None
    updated_at: datetime | None
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "SecretOut") -> Self:
        return cls(
            name=raw["name"],
            owner=raw.get("owner") or "",
            kind=raw.get("kind") or "",
            size_bytes=int(raw.get("sizeBytes") or 0),
            created_at=instant(raw.get("createdAt")),
            updated_at=instant(raw.get("updatedAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class TokenView:
    """`secret` is set only in the answer that created the token."""

    id: str
    name: str
    user: str
    created_at: datetime | None
    expires_at: datetime | None
    last_used_at: datetime | None
    secret: str | None = field(repr=False)
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "TokenOut | NewTokenOut") -> Self:
        return cls(
            id=raw["id"],
            name=raw.get("name") or "",
            user=raw.get("user") or "",
            created_at=instant(raw.get("createdAt")),
            expires_at=instant(raw.get("expiresAt")),
            last_used_at=instant(raw.get("lastUsedAt")),
            secret=cast("NewTokenOut", raw).get("secret"),
            raw=raw,
        )
