"""The caller's own tokens."""

from pathlib import Path

from tests.conformance.openpai_api.client import PaiClient, job_file, ok, refused
from tests.conformance.openpai_api.conftest import SETTINGS, compatible_server
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import running_server


def person(people: People) -> PaiClient:
    user = new_user(people.admin, "pai")
    return PaiClient(people.server, user.name, user.token)


def test_own_tokens_are_listed_and_checked(pai_people: People) -> None:
    me = person(pai_people)

    assert len(ok(me.get("/tokens"))["tokens"]) == 1
    assert ok(me.get("/tokens/check")) == {"username": me.user, "admin": False, "application": False}
    assert me.token not in me.get("/tokens").text


def test_an_application_token_submits_jobs_and_manages_nothing(pai_people: People) -> None:
    me = person(pai_people)
    made = ok(me.send("POST", "/api/v2/tokens/application", json={}))
    application = PaiClient(me.server, me.user, made["token"])
    name = unique("app")

    assert made["application"] is True
    assert ok(application.get("/tokens/check"))["application"] is True
    ok(application.submit(job_file(name, "true")), 202)
    assert application.wait(name)["jobStatus"]["state"] == "SUCCEEDED"
    ok(application.put(application.job(name, "/tag"), {"value": "x"}))
    refused(application.get("/tokens"), 403, "ForbiddenUserError")
    refused(application.send("POST", "/api/v2/tokens/application"), 403, "ForbiddenUserError")
    refused(application.delete(f"/tokens/{made['token']}"), 403, "ForbiddenUserError")


def test_own_tokens_are_revoked_by_themselves_or_by_their_id(pai_people: People) -> None:
    me = person(pai_people)
    for _ in range(2):
        ok(me.send("POST", "/api/v2/tokens/application"))
    made = ok(me.send("POST", "/api/v2/tokens/application"))["token"]
    first = ok(me.get("/tokens"))["tokens"]

    ok(me.delete(f"/tokens/{made}"))
    refused(PaiClient(me.server, me.user, made).get("/users/me"), 401, "UnauthorizedUserError")
    left = ok(me.get("/tokens"))["tokens"]
    assert len(left) == len(first) - 1
    ok(me.delete(f"/tokens/{left[-1]}"))
    assert ok(me.get("/tokens"))["tokens"] == left[:-1]


def test_tokens_of_others_cannot_be_revoked_here_not_even_by_admins(pai_people: People, admin: PaiClient) -> None:
    me, other = person(pai_people), person(pai_people)
    theirs = ok(other.get("/tokens"))["tokens"][0]

    for client in (me, admin):
        refused(client.delete(f"/tokens/{theirs}"), 403, "ForbiddenUserError")
        refused(client.delete(f"/tokens/{other.token}"), 403, "ForbiddenUserError")
    ok(other.get("/users/me"))


def test_a_token_that_is_revoked_is_not_in_the_log(tmp_path: Path) -> None:
    home = compatible_server(tmp_path / "home", f"{SETTINGS}accessLog: true\n")
    with running_server(home, {"MUSTER_LOG_FILE": "server.log"}) as server:
        me = PaiClient(server, "root", server.token)
        made = ok(me.send("POST", "/api/v2/tokens/application"))["token"]
        ok(me.delete(f"/tokens/{made}"))

    logged = (home / "server.log").read_text() + (home / "stderr.log").read_text()
    assert "/api/v2/tokens/" in logged
    assert made not in logged
