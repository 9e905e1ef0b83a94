"""The people of these tests, one of each kind that the server tells apart."""

import secrets
from dataclasses import dataclass

from tests.integration.api.calling import Caller, ok
from tests.parts.server import MusterServer, polls

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class People:
    server: MusterServer
    owner: Caller
    other: Caller
    admin: Caller
    disabled: Caller
    expired: Caller
    revoked: Caller
    nobody: Caller


def make_people(server: MusterServer) -> People:
    admin = Caller(server, server.token, "admin")
    owner, other, gone = (new_user(admin, kind) for kind in ("owner", "other", "disabled"))
    ok(admin.send("PATCH", f"/users/{gone.name}", json={"disabled": True}))
    expired = ok(owner.post("/tokens", {"name": "short", "expires": "1ms"}), 201)
    revoked = ok(owner.post("/tokens", {"name": "gone"}), 201)
    ok(owner.send("DELETE", f"/tokens/{revoked['id']}"), 204)
    people = People(
        server,
        owner,
        other,
        admin,
        gone,
        Caller(server, expired["secret"]),
        Caller(server, revoked["secret"]),
        Caller(server),
    )
    for _ in polls(5):
        if people.expired.get("/whoami").status_code == 401:
            return people
    raise AssertionError("a token of one millisecond is still valid")


def new_user(admin: Caller, kind: str, *, password: str | None = PASSWORD) -> Caller:
    name = f"{kind}-{secrets.token_hex(4)}"
    ok(admin.post("/users", {"name": name, "password": password}), 201)
    token = ok(admin.post("/tokens", {"name": "tests", "user": name}), 201)
    return Caller(admin.server, token["secret"], name)


def unique(prefix: str) -> str:
    return f"{prefix}-{secrets.token_hex(4)}"
