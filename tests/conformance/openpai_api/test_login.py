"""Logging in as the clients do, and what they ask before."""

import time
from pathlib import Path

import pytest

from tests.conformance.openpai_api.client import PROXY, PaiClient, ok, refused
from tests.conformance.openpai_api.conftest import SETTINGS, compatible_server
from tests.integration.api.calling import Caller
from tests.integration.api.people import PASSWORD, People, new_user
from tests.parts.server import MusterServer, running_server

LOGIN = "/api/v2/authn/basic/login"
NUL = b'{"username": "a\\u0000", "password": "b"}'


@pytest.mark.parametrize("root", ["", PROXY])
def test_clients_learn_how_to_log_in_without_a_token(pai_server: MusterServer, root: str) -> None:
    client = PaiClient(pai_server, root=root)

    info = ok(client.get("/info"))
    assert (info["authnMethod"], info["launcherType"]) == ("basic", "k8s")
    assert info["name"]
    assert info["version"]
    assert ok(client.get("/authn/info")) == {"authn_type": "basic", "loginURI": LOGIN, "loginURIMethod": "post"}


def test_vs_code_finds_protocol_2_without_a_token(pai_server: MusterServer) -> None:
    """It asks for the config of a job that does not exist, and looks whether the API is unknown."""
    refused(PaiClient(pai_server).get("/jobs/protocolversion/config"), 401, "UnauthorizedUserError")


@pytest.mark.parametrize("how", ["json", "data"])
def test_a_password_gets_a_token(pai_people: People, how: str) -> None:
    user = new_user(pai_people.admin, "pai")
    given = {"username": user.name, "password": PASSWORD, "expiration": "4000"}

    answer = ok(PaiClient(pai_people.server).send("POST", LOGIN, **{how: given}))

    assert {key: answer[key] for key in ("user", "admin", "hasGitHubPAT")} == {
        "user": user.name,
        "admin": False,
        "hasGitHubPAT": False,
    }
    me = ok(PaiClient(pai_people.server, user.name, answer["token"]).get(f"/users/{user.name}"))
    assert me["username"] == user.name


def test_a_token_lasts_as_long_as_the_client_asks(pai_people: People) -> None:
    user = new_user(pai_people.admin, "pai")
    given = {"username": user.name, "password": PASSWORD, "expiration": 0.2}

    token = ok(PaiClient(pai_people.server).send("POST", LOGIN, json=given))["token"]

    client = PaiClient(pai_people.server, user.name, token)
    deadline = time.monotonic() + 30
    while client.get("/users/me").status_code == 200:
        assert time.monotonic() < deadline, "the token has not expired"
    refused(client.get("/users/me"), 401, "UnauthorizedUserError")


def test_a_wrong_password_and_an_unknown_user_are_refused_with_the_same_words(pai_people: People) -> None:
    user = new_user(pai_people.admin, "pai")
    client = PaiClient(pai_people.server)

    said = [
        refused(client.send("POST", LOGIN, json={"username": name, "password": "wrong"}), 400, "IncorrectPasswordError")
        for name in (user.name, "nobody-of-that-name")
    ]

    assert said[0] == said[1]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"username": "a"}', b'{"username": 1, "password": 2}', NUL])
def test_a_login_that_cannot_be_read_is_refused(pai_server: MusterServer, body: bytes) -> None:
    refused(PaiClient(pai_server).send("POST", LOGIN, content=body), 400, "InvalidParametersError")


@pytest.mark.parametrize("expiration", ["soon", -1, 0, True, "1e400", []])
def test_an_expiration_that_is_no_time_is_refused(pai_server: MusterServer, expiration: object) -> None:
    given = {"username": "a", "password": "b", "expiration": expiration}
    refused(PaiClient(pai_server).send("POST", LOGIN, json=given), 400, "InvalidParametersError")


def test_whoever_guesses_passwords_has_to_wait(own_pai_server: MusterServer) -> None:
    user = new_user(Caller(own_pai_server, own_pai_server.token), "pai")
    client = PaiClient(own_pai_server)
    wrong = {"username": user.name, "password": "wrong"}

    answers = [client.send("POST", LOGIN, json=wrong) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    events = own_pai_server.call("GET", "/api/v1/events?kind=audit.login.failed")[1]["items"]
    assert len(events) == 5


def test_logging_out_ends_the_token(pai_people: People) -> None:
    user = new_user(pai_people.admin, "pai")
    login = PaiClient(pai_people.server).send("POST", LOGIN, json={"username": user.name, "password": PASSWORD})
    client = PaiClient(pai_people.server, user.name, ok(login)["token"])

    ok(client.delete("/authn/basic/logout"))

    refused(client.get("/users/me"), 401, "UnauthorizedUserError")


def test_a_login_may_not_be_longer_than_a_login_needs(pai_server: MusterServer) -> None:
    answer = PaiClient(pai_server).send("POST", LOGIN, content=b"x" * (65 << 10))
    assert answer.status_code == 413


def test_a_server_without_passwords_tells_clients_to_bring_a_token(tmp_path: Path) -> None:
    home = compatible_server(tmp_path / "home", f"{SETTINGS}passwordLogin: false\n")
    with running_server(home) as server:
        client = PaiClient(server)
        assert ok(client.get("/info"))["authnMethod"] == "OIDC"
        given = {"username": "root", "password": PASSWORD}
        refused(client.send("POST", LOGIN, json=given), 403, "ForbiddenUserError")
        ok(PaiClient(server, token=server.token).get("/users/me"))
