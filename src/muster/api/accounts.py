"""Users, tokens and logins, as the API answers them."""

from typing import Annotated, NotRequired, TypedDict


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
    isSession: Annotated[bool, "Whether a login made it."]
    isCurrent: Annotated[bool, "Whether this very call was made with it."]


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


class FirstStartOut(TypedDict):
    command: Annotated[
        str, "What prints a link that logs a browser in, on the machine of the server, as the account that runs it."
    ]


class LoginWaysOut(TypedDict):
    password: Annotated[bool, "Whether a user and a password are accepted."]
    sso: Annotated[ProviderOut | None, "The identity provider, if there is one."]
    firstStart: NotRequired[Annotated[FirstStartOut, "There as long as no user has a password: nobody can use one."]]


class DeviceLoginOut(TypedDict):
    id: Annotated[str, "The id for calls that ask whether the person has confirmed the code."]
    code: Annotated[str, "What the person enters there."]
    address: Annotated[str, "The page that the person opens, on any machine."]
    completeAddress: Annotated[str | None, "The same page with the code filled in."]
    interval: Annotated[float, "How many seconds to wait between two questions."]
    expiresIn: float


class ServerOut(TypedDict):
    version: str
    url: str
    store: Annotated[str, "Servers with the same value have one database: a job of one is a job of all."]


class WhoAmIOut(TypedDict):
    user: str
    role: str
    groups: list[str]
    hasPassword: Annotated[bool, "Whether you can log in with a password that Muster keeps."]
    token: Annotated[TokenOut, "The token of this call: a login, or a personal token."]
    scope: Annotated[str, "What the token of this call allows: `read`, `submit` or `admin`, all that the user may do."]
    server: ServerOut
