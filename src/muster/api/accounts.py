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


class IdentityOut(TypedDict):
    issuer: Annotated[str, "The identity provider."]
    subject: Annotated[str, "Who the user is there; this never changes."]
    linkedAt: str


class IdentityList(TypedDict):
    items: list[IdentityOut]


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


class LinkOut(TypedDict):
    url: Annotated[str, "Good once."]
    expiresAt: str


class LoginOut(TypedDict):
    token: str
    user: str
    role: str
    expiresAt: str | None


class ProviderOut(TypedDict):
    name: Annotated[str, "How people call the identity provider."]


class LoginWaysOut(TypedDict):
    password: Annotated[bool, "Whether a user and a password are accepted."]
    sso: Annotated[ProviderOut | None, "The identity provider, if there is one."]


class DeviceLoginOut(TypedDict):
    id: Annotated[str, "For the calls that ask whether the person has confirmed the code."]
    code: Annotated[str, "What the person enters there."]
    address: Annotated[str, "The page that the person opens, on any machine."]
    completeAddress: Annotated[str | None, "The same page with the code filled in."]
    interval: Annotated[float, "How many seconds to wait between two questions."]
    expiresIn: float


class ServerOut(TypedDict):
    version: str
    url: str


class WhoAmIOut(TypedDict):
    user: str
    role: str
    scope: Annotated[str, "What the token of this call allows: `read`, `submit` or `admin`, all that the user may do."]
    server: ServerOut
