"""Logging in as the client does, and what happens to those who have not."""

import pytest
from fastapi.routing import APIRoute

from muster.server.compatibility import paddlecloud
from tests.conformance.paddlecloud.conftest import Cloud
from tests.conformance.paddlecloud.go_client import GoClient
from tests.integration.api.calling import ok

CALLS = [
    ("GET", "/api/v1/jobs/"),
    ("POST", "/api/v1/jobs/"),
    ("DELETE", "/api/v1/jobs/"),
    ("GET", "/api/v1/trainingjobs/"),
    ("POST", "/api/v1/trainingjobs/"),
    ("DELETE", "/api/v1/trainingjobs/"),
    ("GET", "/api/v1/pservers/"),
    ("GET", "/api/v1/workers/"),
    ("GET", "/api/v1/logs/"),
    ("GET", "/api/v1/logs"),
    ("GET", "/api/v1/quota/"),
    ("GET", "/api/v1/registry/"),
    ("POST", "/api/v1/registry/"),
    ("DELETE", "/api/v1/registry/"),
    ("GET", "/api/v1/file/"),
    ("POST", "/api/v1/file/"),
    ("GET", "/api/v1/filelist/"),
    ("GET", "/api/v1/publish/"),
    ("POST", "/api/v1/publish/"),
    ("GET", "/api/v1/token2user/"),
    ("GET", "/api/v1/pfs/files"),
    ("POST", "/api/v1/pfs/files"),
    ("DELETE", "/api/v1/pfs/files"),
    ("GET", "/api/v1/pfs/chunks"),
    ("GET", "/api/v1/pfs/storage/chunks"),
    ("POST", "/api/v1/pfs/storage/chunks"),
]


OPEN = {("POST", "/api-token-auth/"), ("GET", "/healthz/"), ("GET", "/filepub/")}
"""What needs no token: logging in, being there, and addresses that cannot be guessed."""


@pytest.mark.fast
def test_every_route_of_the_api_is_in_the_table_of_those_that_need_a_token() -> None:
    found = [route for router in paddlecloud.ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    routes = {(method, route.path.rstrip("/")) for route in found for method in route.methods or ()}
    older = {(method, path.replace("/pfs/", "/")) for method, path in CALLS if "/pfs/" in path}
    assert routes == {(method, path.rstrip("/")) for method, path in {*CALLS, *OPEN, *older}}
    assert not any(router.include_in_schema for router in paddlecloud.ROUTERS)


def test_a_token_is_had_with_json_and_with_a_form_and_tells_the_user(cloud: Cloud) -> None:
    me = cloud.person()
    form = f"username={me.user.replace('@', '%40')}&password={me.password.replace(' ', '+')}".encode()
    by_form = me.send("POST", "/api-token-auth/", None, form, "application/x-www-form-urlencoded").json()["token"]
    assert by_form != me.token
    for token in (me.token, by_form):
        assert GoClient(cloud.server, me.user, "", token=token).get("/api/v1/token2user/").json() == {"user": me.user}


def test_the_token_is_a_login_of_muster_that_ends_and_can_be_revoked(cloud: Cloud, me: GoClient) -> None:
    own = cloud.own(me)
    (token,) = ok(own.get("/tokens"))["items"]
    assert token["name"] == "paddlecloud"
    assert token["expiresAt"] is not None
    ok(own.post("/logout"), 204)
    assert me.get("/api/v1/token2user/").status == 401


def test_a_wrong_password_is_refused_and_counted_as_muster_counts_them(cloud: Cloud) -> None:
    stranger = GoClient(cloud.server, cloud.person().user, "wrong")
    body = b'{"password":"wrong","username":"%s"}' % stranger.user.encode()
    statuses = [stranger.send("POST", "/api-token-auth/", body=body).status for _ in range(40)]
    assert statuses[0] == 400
    assert statuses[-1] == 429


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_who_has_no_token_or_a_wrong_one_is_refused_with_json(cloud: Cloud, method: str, path: str) -> None:
    for token in ("", "mst_wrong"):
        answer = GoClient(cloud.server, "nobody", "", token=token).send(method, path, body=b"{}")
        assert answer.status == 401
        assert b'"detail"' in answer.content
        assert answer.headers["www-authenticate"] == "Token"


def test_the_health_check_needs_no_token(cloud: Cloud) -> None:
    answer = GoClient(cloud.server, "nobody", "").get("/healthz/")
    assert (answer.status, answer.content) == (200, b"OK")


def test_a_token_of_muster_with_a_narrower_scope_may_do_no_more_here(cloud: Cloud, me: GoClient) -> None:
    created = ok(cloud.own(me).post("/tokens", {"name": "narrow", "scope": "read"}), 201)
    reader = GoClient(cloud.server, me.user, "", token=created["secret"])
    assert reader.get("/api/v1/jobs/").json()["items"] == []
    assert "scope read" in reader.kill("anything")["msg"]
    assert "scope read" in reader.touch(me.home("x"), 1)["err"]
    assert "scope read" in reader.put_file(b"x", me.home("x"))["msg"]
    registry = {"name": "pcloud-registry-a", "username": "a", "password": "b", "server": "c"}
    assert "scope read" in reader.post("/api/v1/registry/", registry).json()["msg"]
    assert me.ls(me.home())["results"] == []


def test_without_the_setting_nothing_of_it_is_there(muster_server: object, cloud: Cloud) -> None:
    plain = GoClient(muster_server, "nobody", "")  # type: ignore[arg-type]
    assert plain.send("POST", "/api-token-auth/", body=b"{}").status == 404
    assert plain.get("/api/v1/pfs/files").status == 404
