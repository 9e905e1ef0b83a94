"""Users, tokens and logins, as the API answers them."""

from typing import Annotated, TypedDict


class UserOut(TypedDict):
    id: Annotated[str, "It never changes, and no other user ever has it."]
    name: str
    role: str
    disabled: bool
    hasPassword: bool
    groups: list[str]
    createdAt: str


class UserList(TypedDict):
    items: list[UserOut]


class TokenOut(TypedDict):
    id: str
    name: str
    user: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    scope: Annotated[str, "`read`, `submit` or `admin`."]
    job: Annotated[str | None, "The id of the only job that the token is for."]


class TokenList(TypedDict):
    items: list[TokenOut]


class NewTokenOut(TokenOut):
    secret: Annotated[str, "Shown once; only its hash is kept."]


class LoginOut(TypedDict):
    token: str
    user: str
    role: str
    expiresAt: str | None


class ServerOut(TypedDict):
    version: str
    url: str


class WhoAmIOut(TypedDict):
    user: str
    role: str
    server: ServerOut
