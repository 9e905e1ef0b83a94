"""Logging in and out, by password, token and cookie; what protects people from each other and from themselves."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import PASSWORD, People, new_user, unique
from tests.parts.server import running_server

FROM_THE_PAGE = {"X-Muster-Request": "1"}


@pytest.fixture(scope="module")
def me(people: People) -> Caller:
    return new_user(people.admin, "person")


def by_cookie(caller: Caller, secret: str, method: str, path: str, **headers: str) -> httpx.Response:
    headers["Cookie"] = f"muster_session={secret}"
    return httpx.request(method, f"{caller.server.url}/api/v1{path}", headers=headers, json={}, verify=False)


def log_in(people: People, name: str, password: str, **headers: str) -> httpx.Response:
    return people.nobody.post("/login", {"user": name, "password": password}, headers=headers)


def test_login_answers_a_token_that_works_and_no_cookie_for_programs(me: Caller, people: People) -> None:
    answer = log_in(people, me.name, PASSWORD)
    session = ok(answer)
    assert "set-cookie" not in answer.headers
    assert (session["user"], session["role"]) == (me.name, "user")
    assert session["expiresAt"] is not None
    assert ok(Caller(me.server, session["token"]).get("/whoami"))["user"] == me.name


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites(me: Caller, people: People) -> None:
    answer = log_in(people, me.name, PASSWORD, **FROM_THE_PAGE)
    cookie = SimpleCookie(answer.headers["set-cookie"])["muster_session"]
    assert cookie.value == ok(answer)["token"]
    assert cookie["httponly"]
    assert cookie["samesite"].lower() == "strict"
    assert cookie["path"] == "/"


@pytest.mark.parametrize("host", ["localhost:7070", "127.0.0.1:1", "[::1]:7070", socket.gethostname()])
def test_a_link_begins_with_the_name_at_which_the_server_was_called(me: Caller, host: str) -> None:
    link = ok(me.post("/login/link", headers={"Host": host}), 201)["url"]
    assert link.startswith(f"http://{host}/#login=")


def test_test_notices_are_sent_a_few_times_in_a_minute(people: People) -> None:
    someone = new_user(people.admin, "eager")
    answers = [someone.post("/notices/test", {}) for _ in range(6)]
    assert [one.status_code for one in answers] == [409] * 5 + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert new_user(people.admin, "calm").post("/notices/test", {}).status_code == 409


@pytest.mark.parametrize("query", ["text=%00", "text=a%00", "reason=%00"])
def test_a_character_that_no_job_can_have_is_not_found_in_all_of_them(me: Caller, query: str) -> None:
    me.submit({"name": unique("job"), "command": "true"})
    problem(me.get(f"/jobs?{query}"), 422, "invalid")


def test_the_cookie_lasts_no_longer_than_its_token(me: Caller, people: People) -> None:
    token = ok(me.post("/tokens", {"name": "brief", "expires": "1h"}), 201)
    answer = people.nobody.post("/login", {"token": token["secret"]}, headers=FROM_THE_PAGE)
    assert 3500 <= int(SimpleCookie(answer.headers["set-cookie"])["muster_session"]["max-age"]) <= 3600


def test_a_change_by_cookie_needs_the_header_that_only_our_page_sends(me: Caller) -> None:
    assert by_cookie(me, me.token, "GET", "/whoami").status_code == 200
    problem(by_cookie(me, me.token, "POST", "/jobs/none/kill"), 401, "not-authenticated")
    problem(by_cookie(me, me.token, "POST", "/jobs/none/kill", **FROM_THE_PAGE), 404, "not-found")


def test_logout_ends_the_session_everywhere(me: Caller, people: People) -> None:
    secret = ok(log_in(people, me.name, PASSWORD, **FROM_THE_PAGE))["token"]
    answer = by_cookie(me, secret, "POST", "/logout", **FROM_THE_PAGE)
    assert answer.status_code == 204
    assert SimpleCookie(answer.headers["set-cookie"])["muster_session"].value == ""
    problem(Caller(me.server, secret).get("/whoami"), 401, "not-authenticated")


def test_a_token_becomes_a_session_by_login(me: Caller, people: People) -> None:
    answer = people.nobody.post("/login", {"token": me.token}, headers=FROM_THE_PAGE)
    assert ok(answer)["user"] == me.name
    problem(people.nobody.post("/login", {"token": "mst_wrong"}), 401, "not-authenticated")
    problem(people.nobody.post("/login", {"user": me.name}), 422, "invalid")


def test_logging_out_of_a_browser_that_was_given_a_token_leaves_the_token(me: Caller, people: People) -> None:
    session = ok(people.nobody.post("/login", {"token": me.token}, headers=FROM_THE_PAGE))["token"]
    assert session != me.token
    assert by_cookie(me, session, "POST", "/logout", **FROM_THE_PAGE).status_code == 204
    problem(Caller(me.server, session).get("/whoami"), 401, "not-authenticated")
    assert ok(me.get("/whoami"))["user"] == me.name


@pytest.mark.parametrize("header", ["", "Bearer", "Basic abc", "Bearer mst_nonsense", "bearer \xe9"])
def test_an_authorization_header_that_is_no_token_is_refused_even_beside_a_cookie(me: Caller, header: str) -> None:
    headers = {b"Authorization": header.encode("latin-1"), b"Cookie": f"muster_session={me.token}".encode()}
    answer = httpx.get(f"{me.server.url}/api/v1/whoami", headers=headers, verify=False)
    problem(answer, 401, "not-authenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_failed_logins_are_slowed_down_even_when_sent_all_at_once(people: People) -> None:
    victim = new_user(people.admin, "hammered")
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: log_in(people, victim.name, "wrong"), range(12)))
    details = [answer.json()["detail"] for answer in answers]
    assert details.count("wrong user or password") == 5
    assert details.count("too many failed logins") == 7
    refused = log_in(people, victim.name, PASSWORD)
    assert problem(refused, 429, "too-many-requests")["detail"].startswith("too many")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    ok(victim.get("/whoami"))


def test_a_wrong_name_and_a_wrong_password_are_answered_alike(me: Caller, people: People) -> None:
    known = problem(log_in(people, me.name, "wrong"), 401, "not-authenticated")
    unknown = problem(log_in(people, unique("nobody"), "wrong"), 401, "not-authenticated")
    assert known == unknown


def test_a_user_changes_the_own_password_with_the_old_one(people: People) -> None:
    user = new_user(people.admin, "changer")
    path = f"/users/{user.name}"
    problem(user.send("PATCH", path, json={"password": "another one", "oldPassword": "wrong"}), 403, "forbidden")
    problem(user.send("PATCH", path, json={"password": "another one"}), 403, "forbidden")
    problem(user.send("PATCH", path, json={"password": "short", "oldPassword": PASSWORD}), 400, "bad-request")
    ok(user.send("PATCH", path, json={"password": "another one", "oldPassword": PASSWORD}))
    problem(log_in(people, user.name, PASSWORD), 401, "not-authenticated")
    ok(log_in(people, user.name, "another one"))


def test_a_user_cannot_become_admin_nor_enable_anything(me: Caller) -> None:
    for change in ({"role": "admin"}, {"disabled": False}, {"role": "admin", "oldPassword": PASSWORD}):
        problem(me.send("PATCH", f"/users/{me.name}", json=change), 403, "forbidden")


def test_a_new_password_ends_other_logins_and_leaves_this_one_and_personal_tokens(people: People) -> None:
    person = new_user(people.admin, "careful")
    here, elsewhere = (Caller(person.server, ok(log_in(people, person.name, PASSWORD))["token"]) for _ in range(2))
    personal = Caller(person.server, ok(here.post("/tokens", {"name": "script"}), 201)["secret"])
    change = {"password": "another-long-one", "oldPassword": PASSWORD}
    ok(here.send("PATCH", f"/users/{person.name}", json=change))
    ok(here.get("/whoami"))
    ok(personal.get("/whoami"))
    problem(elsewhere.get("/whoami"), 401, "not-authenticated")


def test_a_user_without_password_cannot_log_in_by_one(people: People) -> None:
    user = new_user(people.admin, "tokenonly", password=None)
    for password in ("", "anything"):
        problem(log_in(people, user.name, password), 401, "not-authenticated")


def test_disabling_and_removing_end_tokens_at_once(people: People) -> None:
    user = new_user(people.admin, "leaver")
    ok(user.get("/whoami"))
    ok(people.admin.send("PATCH", f"/users/{user.name}", json={"disabled": True}))
    problem(user.get("/whoami"), 401, "not-authenticated")
    problem(log_in(people, user.name, PASSWORD), 401, "not-authenticated")
    ok(people.admin.send("PATCH", f"/users/{user.name}", json={"disabled": False}))
    ok(user.get("/whoami"))
    ok(people.admin.send("DELETE", f"/users/{user.name}"), 204)
    problem(user.get("/whoami"), 401, "not-authenticated")


def test_the_last_admin_stays(tmp_path: Path) -> None:
    """On a server of its own: on that of the other tests, somebody else may be an admin, too."""
    with running_server(tmp_path / "home") as server:
        admin = Caller(server, server.token)
        name = ok(admin.get("/whoami"))["user"]
        for method, change in (("PATCH", {"role": "user"}), ("PATCH", {"disabled": True}), ("DELETE", None)):
            problem(admin.send(method, f"/users/{name}", json=change), 409, "conflict")


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a b", "-x", "x" * 64, "é", "a\n"])
def test_a_user_name_is_one_plain_word(people: People, name: str) -> None:
    problem(people.admin.post("/users", {"name": name}), 400, "bad-request")


def test_a_user_name_is_there_once(people: People, me: Caller) -> None:
    problem(people.admin.post("/users", {"name": me.name}), 409, "conflict")


def test_lists_show_ones_own_and_never_a_secret(people: People, me: Caller) -> None:
    mine = ok(me.get("/tokens"))["items"]
    assert {token["user"] for token in mine} == {me.name}
    assert [user["name"] for user in ok(me.get("/users"))["items"]] == [me.name]
    assert {me.name, people.other.name} <= {user["name"] for user in ok(people.admin.get("/users"))["items"]}
    shown = people.admin.get("/tokens").text + people.admin.get("/users").text
    assert me.token not in shown
    assert "argon2" not in shown
    assert "secret" not in shown


@pytest.mark.parametrize("expires", ["99999999d", 1e300, "9" * 400, -1, "soon", [1], {"d": 1}, True])
def test_a_lifetime_that_no_calendar_holds_is_refused(me: Caller, expires: object) -> None:
    refused = problem(me.post("/tokens", {"name": "long", "expires": expires}), 400, "bad-request")
    assert "Value error" not in str(refused)


def test_a_token_says_when_it_ends(me: Caller) -> None:
    assert ok(me.post("/tokens", {"name": "month", "expires": "30d"}), 201)["expiresAt"] is not None
    assert ok(me.post("/tokens", {"name": "endless"}), 201)["expiresAt"] is None


def test_a_private_job_is_told_as_one_that_is_not_there(private_people: People) -> None:
    job = private_people.owner.submit({"name": unique("hidden"), "command": "true", "hold": True})
    for ref in (job["id"], job["name"]):
        hidden = problem(private_people.other.get(f"/jobs/{ref}"), 404, "not-found")
        assert hidden["detail"] == f"there is no job {ref!r}"
    absent = problem(private_people.other.get("/jobs/absent"), 404, "not-found")
    assert {key: value for key, value in absent.items() if key != "detail"} == {
        key: value for key, value in hidden.items() if key != "detail"
    }
    for path in ("/jobs", "/events"):
        assert job["name"] not in private_people.other.get(path).text


def test_nodes_do_not_name_private_jobs(private_people: People) -> None:
    spec = {"name": unique("hidden"), "command": "sleep 60", "resources": {"gpu": 1}}
    job = private_people.owner.submit(spec)
    private_people.server.wait_for_state(job["id"], "Running")
    seen = {who.name: who.get("/nodes").text for who in (private_people.owner, private_people.other)}
    assert job["name"] in seen[private_people.owner.name]
    assert job["name"] not in seen[private_people.other.name]
    assert job["id"] not in seen[private_people.other.name]
    assert "(private)" in seen[private_people.other.name]
    owners = {
        who: {gpu["owner"] for node in json.loads(text)["items"] for gpu in node["gpus"]} for who, text in seen.items()
    }
    assert private_people.owner.name in owners[private_people.owner.name]
    assert private_people.owner.name not in owners[private_people.other.name]
    for path in ("/usage", "/events", "/jobs"):
        assert job["name"] not in private_people.other.get(path).text
    ok(private_people.owner.post(f"/jobs/{job['id']}/kill", {"grace": "0s"}), 202)


def test_nobody_can_be_called_me_for_that_is_whoever_asks(people: People) -> None:
    answer = problem(people.admin.post("/users", {"name": "me"}), 422, "invalid")
    assert "means whoever asks" in answer["detail"]
