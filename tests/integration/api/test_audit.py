"""Every call that changes something leaves an audit event with its actor: a table over the same routes."""

from typing import Any

import httpx
import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People, new_user
from tests.integration.api.rights_table import API, TABLE, Row
from tests.integration.api.world import World

CHANGES_NOTHING = (
    f"POST {API}/environments:test",
    f"POST {API}/jobs:translate",
    f"POST {API}/server/write-check",
    f"POST {API}/notices/test",
    *(f"POST {API}/login/{rest}" for rest in ("sso/confirm", "device", "device/{login_id}")),
)
"""Logins with an identity provider are tested with one."""
NEEDS_ANOTHER_SERVER = (
    f"POST {API}/jobs:handed-on",
    f"DELETE {API}/jobs:handed-on/{{ref}}",
    f"POST {API}/jobs/{{ref}}/stop-tasks",
)
"""They are tested with one."""
NOT_AUDITED = (f"POST {API}/jobs/{{ref}}/metrics",)
"""What a program reports is a part of its job, as its log is."""
NEEDS_A_RUNNING_TASK = (f"POST {API}/jobs/{{ref}}/stacks",)
"""It is tested with one."""
LEFT_OUT = {*NEEDS_A_RUNNING_TASK, *CHANGES_NOTHING, *NEEDS_ANOTHER_SERVER, *NOT_AUDITED}
CHANGES = [row for row in TABLE if row.method not in ("GET", "HEAD") and row.title not in LEFT_OUT]
KINDS = {
    f"POST {API}/jobs": "audit.job.submit",
    f"POST {API}/jobs:bulk": "audit.job.submit",
    f"POST {API}/jobs:import": "audit.job.import",
    f"POST {API}/jobs/{{ref}}/kill": "audit.job.kill",
    f"POST {API}/jobs/{{ref}}/hold": "audit.job.hold",
    f"POST {API}/jobs/{{ref}}/resume": "audit.job.resume",
    f"POST {API}/jobs/{{ref}}/bump": "audit.job.bump",
    f"POST {API}/jobs/{{ref}}/move": "audit.job.move",
    f"POST {API}/jobs/{{ref}}/change": "audit.job.change",
    f"POST {API}/jobs/{{ref}}/retry": "audit.job.submit",
    f"DELETE {API}/jobs/{{ref}}": "audit.job.delete",
    f"POST {API}/clusters/{{cluster}}/nodes": "audit.node.add",
    f"PUT {API}/cluster-files/{{name}}": "audit.cluster-file.write",
    f"DELETE {API}/cluster-files/{{name}}": "audit.cluster-file.remove",
    f"DELETE {API}/nodes/{{name}}": "audit.node.remove",
    f"POST {API}/nodes/{{name}}/cordon": "audit.node.cordon",
    f"POST {API}/nodes/{{name}}/drain": "audit.node.drain",
    f"POST {API}/nodes/{{name}}/uncordon": "audit.node.uncordon",
    f"POST {API}/nodes/{{name}}/reconnect": "audit.node.reconnect",
    f"POST {API}/nodes/{{name}}/exec": "audit.node.exec",
    f"PUT {API}/clusters/{{cluster}}/files/content": "audit.fs.write",
    f"DELETE {API}/clusters/{{cluster}}/files/upload": "audit.fs.abort",
    f"POST {API}/clusters/{{cluster}}/files/mkdir": "audit.fs.mkdir",
    f"POST {API}/clusters/{{cluster}}/files/move": "audit.fs.move",
    f"POST {API}/clusters/{{cluster}}/files/copy": "audit.fs.copy",
    f"DELETE {API}/clusters/{{cluster}}/files": "audit.fs.remove",
    f"PUT {API}/packages/{{digest}}": "audit.package.upload",
    f"POST {API}/login": "audit.login",
    f"POST {API}/login/link": "audit.login.link",
    f"POST {API}/jobs/{{ref}}/page": "audit.job.page",
    f"POST {API}/logout": "audit.logout",
    f"POST {API}/users": "audit.user.create",
    f"PATCH {API}/users/{{name}}": "audit.user.change",
    f"DELETE {API}/users/{{name}}": "audit.user.remove",
    f"POST {API}/users/{{name}}/identities": "audit.user.link",
    f"DELETE {API}/users/{{name}}/identities": "audit.user.unlink",
    f"POST {API}/tokens": "audit.token.create",
    f"DELETE {API}/tokens/{{token_id}}": "audit.token.revoke",
    f"POST {API}/simulations": "audit.simulation.start",
    f"DELETE {API}/simulations/{{simulation_id}}": "audit.simulation.remove",
    f"PUT {API}/secrets/{{name}}": "audit.secret.set",
    f"DELETE {API}/secrets/{{name}}": "audit.secret.remove",
    f"PUT {API}/templates/{{name}}": "audit.template.publish",
    f"POST {API}/alerts/silences": "audit.alert.silence",
    f"DELETE {API}/alerts/silences/{{silence_id}}": "audit.alert.unsilence",
    f"PUT {API}/notices/settings": "audit.notice.settings",
    f"DELETE {API}/notices/settings": "audit.notice.settings",
    f"POST {API}/sweeps": "audit.sweep.submit",
    f"POST {API}/sweeps/{{ref}}/stop": "audit.sweep.stop",
    f"POST {API}/models": "audit.model.register",
    f"DELETE {API}/models/{{ref}}": "audit.model.remove",
    f"DELETE {API}/templates/{{name}}": "audit.template.remove",
}


@pytest.fixture(scope="module")
def world(people: People) -> World:
    return World(people)


@pytest.mark.fast
def test_every_changing_route_is_in_the_table() -> None:
    assert set(KINDS) == {row.title for row in CHANGES}


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.title)
def test_a_change_leaves_an_audit_event_with_its_actor(row: Row, world: World) -> None:
    actor = _somebody(row, world)
    path = row.route
    for name, kind in row.given.items():
        path = path.replace(f"{{{name}}}", world.thing(kind))
    before = _last(world)
    answer = _act(row, world, actor, path)
    assert answer.status_code < 300, answer.text
    found = ok(world.people.admin.get("/events", params={"after": before, "kind": KINDS[row.title]}))["items"]
    assert actor.name in [event["actor"] for event in found], found


def _somebody(row: Row, world: World) -> Caller:
    """Whoever may: the owner, an admin where only admins may."""
    admin = world.people.admin
    if row.owner >= 400:
        return Caller(admin.server, admin.token, ok(admin.get("/whoami"))["user"])
    return world.people.owner if not row.own_token else new_user(admin, "leaving", password=None)


def _act(row: Row, world: World, actor: Caller, path: str) -> httpx.Response:
    body: Any = world.filled(row.body)
    if path.endswith("/login"):
        body = {"user": actor.name, "password": world.thing("password")}
    if path.startswith(f"{API}/packages/"):
        return world.upload(actor)
    if path.endswith("/hold"):
        job = actor.submit({"name": world.thing("fresh"), "command": "sleep 60"})["id"]
        path = f"{API}/jobs/{job}/hold"
    if row.piece is not None:
        return actor.send(row.method, path.removeprefix(API), params=world.filled(dict(row.query)), content=row.piece)
    return actor.send(row.method, path.removeprefix(API), params=world.filled(dict(row.query)), json=body)


def _last(world: World) -> int:
    """The number of the newest event: this call's own token is one."""
    made = ok(world.people.admin.post("/tokens", {"name": "mark"}), 201)["id"]
    after = 0
    while True:
        page = ok(world.people.admin.get("/events", params={"after": after, "kind": "audit.token.create"}))
        for event in page["items"]:
            after = event["seq"]
            if event["data"].get("token") == made:
                return int(after)
