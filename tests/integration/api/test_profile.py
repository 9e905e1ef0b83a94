"""What people see of themselves: who they are, their logins and tokens; and the first start, when nobody has a
password."""

from pathlib import Path

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import PASSWORD, People, new_user
from tests.parts.server import polls, running_server


def test_a_login_is_told_from_tokens_and_the_one_in_use_from_others(people: People) -> None:
    person = new_user(people.admin, "profile")
    session = ok(people.nobody.post("/login", {"user": person.name, "password": PASSWORD, "name": "phone"}))
    here = Caller(person.server, session["token"], person.name)
    who = ok(here.get("/whoami"))
    assert (who["hasPassword"], who["groups"]) == (True, [])
    assert (who["token"]["name"], who["token"]["isSession"], who["token"]["isCurrent"]) == ("phone", True, True)
    mine = ok(here.get("/tokens", params={"user": "me"}))["items"]
    assert {(token["name"], token["isSession"], token["isCurrent"]) for token in mine} == {
        ("phone", True, True),
        ("tests", False, False),
    }
    ok(here.send("DELETE", f"/tokens/{who['token']['id']}"), 204)
    problem(here.get("/whoami"), 401, "not-authenticated")


def test_tokens_of_one_user_are_for_that_user_and_admins(people: People) -> None:
    of_owner = {"user": people.owner.name}
    assert {one["user"] for one in ok(people.admin.get("/tokens", params=of_owner))["items"]} == {people.owner.name}
    assert ok(people.admin.get("/tokens", params={"user": "me"}))["items"][0]["user"] != people.owner.name
    problem(people.other.get("/tokens", params=of_owner), 403, "forbidden")


def test_a_server_on_which_nobody_has_a_password_says_how_to_get_in(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        nobody, admin = Caller(server), Caller(server, server.token)
        assert ok(nobody.get("/login"))["firstStart"] == {"command": "muster open"}
        name = ok(admin.get("/whoami"))["user"]
        assert ok(admin.get("/whoami"))["hasPassword"] is False
        ok(admin.send("PATCH", f"/users/{name}", json={"password": PASSWORD}))
        for _ in polls(30):
            if ok(nobody.get("/login")) == {"password": True, "sso": None}:
                break
        assert ok(nobody.get("/login")) == {"password": True, "sso": None}
        assert ok(nobody.post("/login", {"user": name, "password": PASSWORD}))["role"] == "admin"
