"""Users, tokens and logins, as the API answers them."""

from typing import Annotated, TypedDict


class UserOut(TypedDict):
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
