"""Logging in and out, tokens, and the doctor."""

import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.bootstrap.self_signed import make_self_signed
from muster.client import contexts
from muster.client.contexts import Context
from muster.lib.fingerprints import fingerprint_of
from muster.version import __version__
from tests.unit.cli.calling import muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast


def test_login_by_password_is_remembered_for_its_owner_only(server: TinyServer, home: Path) -> None:
    answer = {"token": "t0ken", "user": "li", "role": "user", "expiresAt": None}
    server.on("POST", "/login", Answer(200, answer))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": "1"}}))
    outcome = muster(None, "login", server.url, "--user", "li", "--password-stdin", stdin="secret\n")
    assert outcome.code == 0
    assert server.requests("POST", "/login")[0].json["password"] == "secret"
    assert "t0ken" not in outcome.out + outcome.err
    assert stat.S_IMODE((home / "context.json").stat().st_mode) == 0o600
    assert muster(None, "whoami", "-o", "name").out == "li\n"
    assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"
    listed = muster(None, "context", "list", "-o", "json")
    assert listed.document["items"] == [
        {"name": "127.0.0.1", "server": server.url, "servers": [server.url], "user": "li", "current": True}
    ]


def test_logout_gives_the_token_back_and_forgets_it(server: TinyServer) -> None:
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user"}))
    server.on("POST", "/logout", Answer(204, b""))
    muster(None, "login", server.url, "--token-stdin", stdin="t0ken\n")
    assert muster(None, "logout").code == 0
    assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"
    assert muster(None, "context", "list", "-o", "json").document == {"items": []}


def test_token_secret_is_all_that_is_printed(server: TinyServer) -> None:
    server.on("POST", "/tokens", Answer(201, {"id": "7", "name": "ci", "user": "li", "secret": "s3cret"}))
    assert muster(server, "tokens", "create", "ci", "--expires", "30d").out == "s3cret\n"
    assert server.asked[0].json == {"name": "ci", "expires": "30d"}


def test_doctor_fails_with_advice_when_nothing_answers() -> None:
    outcome = muster(None, "--server", "http://127.0.0.1:1", "doctor", "-o", "json")
    findings = {item["name"]: item for item in outcome.document["items"]}
    assert outcome.code == 1
    assert findings["python"]["status"] == "ok"
    assert findings["server"]["status"] == "fail"
    assert findings["server"]["mend"]


def test_doctor_is_content_with_a_sound_server(server: TinyServer, home: Path) -> None:
    home.mkdir()
    server.on("GET", "/healthz", Answer(200, {}))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": __version__}}))
    cpu, memory = {"total": "2", "used": "0"}, {"total": 2**30, "used": 0}
    node = {"name": "n1", "state": "Ready", "cpu": cpu, "memory": memory, "gpus": []}
    server.on("GET", "/nodes", Answer(200, {"items": [node]}))
    apart = {"mode": "namespace", "why": "", "trustUsers": False}
    server.on("GET", "/clusters", Answer(200, {"items": [{"name": "local", "isolation": apart}]}))
    outcome = muster(server, "doctor")
    assert outcome.code == 0, outcome.out
    assert "ok    isolation local: tasks of different users are isolated by namespace" in outcome.out
    assert "ok    node n1: Ready; 2 cores, 1.0 GiB, no GPU seen, memory limits enforced" in outcome.out


def test_doctor_says_what_isolation_does_not_enforce(server: TinyServer, home: Path) -> None:
    home.mkdir()
    server.on("GET", "/healthz", Answer(200, {}))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": __version__}}))
    server.on("GET", "/nodes", Answer(200, {"items": []}))
    given = {"mode": "user", "why": "", "trustUsers": False, "gaps": ["node n1: tasks can open GPUs of others"]}
    server.on("GET", "/clusters", Answer(200, {"items": [{"name": "local", "isolation": given}]}))
    assert "warn  isolation local: node n1: tasks can open GPUs of others" in muster(server, "doctor").out
    shown = muster(server, "describe", "cluster/local").out
    assert "not enforced: node n1: tasks can open GPUs of others" in shown


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    make_self_signed(tmp_path / "tls.crt", tmp_path / "tls.key", "127.0.0.1")
    return tmp_path / "tls.crt"


@pytest.fixture
def encrypted(certificate: Path) -> Iterator[TinyServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
    tiny = TinyServer(tls)
    yield tiny
    tiny.stop()


def _pin(certificate: Path) -> str:
    return fingerprint_of(ssl.PEM_cert_to_DER_cert(certificate.read_text()))


def test_doctor_uses_the_certificate_that_the_context_trusts(encrypted: TinyServer, certificate: Path) -> None:
    known = contexts.Context(encrypted.url, "t", "li", _pin(certificate))
    contexts.save(contexts.Contexts().with_context("lab", known))
    encrypted.on("GET", "/healthz", Answer(200, {"status": "ok"}))
    encrypted.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": __version__}}))
    encrypted.on("GET", "/nodes", Answer(200, {"items": []}))
    found = {item["name"]: item["status"] for item in muster(None, "doctor", "-o", "json").document["items"]}
    assert (found["server"], found["token"]) == ("ok", "ok")
    assert encrypted.requests("GET", "/whoami")[0].headers["Authorization"] == "Bearer t"


def test_doctor_has_a_line_of_its_own_for_problems_of_the_server(server: TinyServer) -> None:
    server.on("GET", "/healthz", Answer(200, {"status": "ok"}))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "admin", "server": {"version": __version__}}))
    server.on("GET", "/clusters", Answer(200, {"items": []}))
    server.on("GET", "/nodes", Answer(200, {"items": []}))
    problems = [
        {"path": "secrets", "message": "1 cannot be decrypted", "hint": "set them again", "line": None, "file": ""},
        {"path": "home", "message": "uses /other", "hint": "give it a database", "line": None, "file": ""},
        {"path": "secrets", "message": "unknown key", "hint": "", "line": 3, "file": "lab.yaml"},
    ]
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [], "problems": problems}))
    found = [item for item in muster(server, "doctor", "-o", "json").document["items"] if item["status"] == "warn"]
    shown = [(item["name"], item["message"], item["mend"]) for item in found]
    assert ("secrets", "1 cannot be decrypted", "set them again") in shown
    assert ("server home", "uses /other", "give it a database") in shown
    assert [message for name, message, _ in shown if name == "clusters"] == ["lab.yaml, line 3: secrets: unknown key"]


def test_every_command_says_that_the_server_speaks_https(encrypted: TinyServer) -> None:
    plain = encrypted.url.replace("https://", "http://")
    outcome = muster(None, "--server", plain, "get", "jobs")
    assert outcome.code == 1
    assert f"the server at {plain} speaks HTTPS" in outcome.err
    assert f"muster login {encrypted.url}" in outcome.err
    found = muster(None, "--server", plain, "doctor", "-o", "json").document["items"]
    (server,) = [item for item in found if item["name"] == "server"]
    assert (server["status"], server["mend"]) == ("fail", f"use its address: muster login {encrypted.url}")


def test_login_finds_out_that_a_server_speaks_https(encrypted: TinyServer, certificate: Path) -> None:
    plain = encrypted.url.replace("https://", "http://")
    outcome = muster(None, "login", plain)
    assert outcome.code == 1
    assert "speaks HTTPS" in outcome.err
    assert f"muster login {encrypted.url}" in outcome.err
    assert "Password" not in outcome.err
    encrypted.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": "1"}}))
    without_scheme = plain.removeprefix("http://")
    trusted = muster(None, "login", without_scheme, "--token", "t", "--fingerprint", _pin(certificate))
    assert trusted.code == 0
    assert contexts.load().known["127.0.0.1"].server == encrypted.url


def _sound(server: TinyServer, role: str, *clusters: dict[str, object]) -> None:
    server.on("GET", "/healthz", Answer(200, {}))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": role, "server": {"version": __version__}}))
    server.on("GET", "/nodes", Answer(200, {"items": []}))
    server.on("GET", "/clusters", Answer(200, {"items": list(clusters)}))
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [], "problems": []}))


@pytest.mark.parametrize(("role", "said"), [("admin", "every cluster is switched off"), ("user", "ask an admin")])
def test_doctor_says_why_there_are_no_clusters(server: TinyServer, role: str, said: str) -> None:
    _sound(server, role)
    outcome = muster(server, "doctor")
    assert outcome.code == 1
    assert said in outcome.out
    assert "look at its log" not in outcome.out
    assert "no cluster is switched on and open to you" in muster(server, "describe", "cluster/local").err


def test_a_server_that_offers_virtual_clusters_alone_is_sound(server: TinyServer) -> None:
    _sound(server, "admin")
    small = {"name": "small", "cluster": "local", **{key: {} for key in ("guaranteed", "used", "borrowed", "lent")}}
    server.on("GET", "/virtual-clusters", Answer(200, {"items": [small], "problems": []}))
    outcome = muster(server, "doctor")
    assert "ok    clusters: only virtual ones are offered here: small" in outcome.out
    assert "switched off" not in outcome.out


def test_nodes_of_one_name_are_told_apart_by_their_clusters(server: TinyServer) -> None:
    _sound(server, "admin", {"name": "local", "isolation": None}, {"name": "lab", "isolation": None})
    amounts = {"cpu": {"total": 4, "used": 0}, "memory": {"total": 1 << 30, "used": 0}}
    found = [("vm", "local"), ("vm", "lab"), ("n1", "lab")]
    nodes = [{"name": name, "cluster": cluster, "state": "Ready", **amounts} for name, cluster in found]
    server.on("GET", "/nodes", Answer(200, {"items": nodes}))
    shown = [item["name"] for item in muster(server, "doctor", "-o", "json").document["items"]]
    assert [name for name in shown if name.startswith("node ")] == ["node vm of local", "node vm of lab", "node n1"]


def test_names_that_let_in_nobody_are_reported_to_admins(server: TinyServer) -> None:
    access = {"users": ["li", "lii"], "groups": ["vision", "visoin"]}
    _sound(server, "admin", {"name": "local", "isolation": None, "access": access})
    server.on("GET", "/users", Answer(200, {"items": [{"name": "li", "role": "user", "groups": ["vision"]}]}))
    doctor = muster(server, "doctor").out
    assert "warn  access local: there is no user lii" in doctor
    assert "warn  access local: nobody is in group visoin" in doctor
    described = muster(server, "describe", "cluster/local").err
    assert "there is no user lii" in described
    assert "user li\n" not in described


def test_describe_wants_a_slash_after_the_kind() -> None:
    outcome = muster(None, "describe", "cluster", "local")
    assert outcome.code == 2
    assert "muster describe cluster/local" in outcome.err
    assert "one object at a time" in muster(None, "describe", "mnist", "cifar").err


def test_tokens_are_revoked_by_a_name_that_is_unique(server: TinyServer) -> None:
    tokens = [{"id": "1", "name": "ci", "user": "li"}, {"id": "2", "name": "x", "user": "li"}]
    server.on("GET", "/tokens", Answer(200, {"items": [*tokens, {"id": "3", "name": "x", "user": "amy"}]}))
    server.on("DELETE", "/tokens/1", Answer(204, b""))
    assert "revoked token ci (1)" in muster(server, "tokens", "revoke", "ci").err
    several = muster(server, "tokens", "revoke", "x")
    assert several.code == 1
    assert "2 of li, 3 of amy" in several.err


def test_a_token_of_the_widest_scope_does_not_read_as_an_admins(server: TinyServer) -> None:
    server.on("GET", "/tokens", Answer(200, {"items": [{"id": "1", "name": "ci", "user": "li", "scope": "admin"}]}))
    listed = muster(server, "get", "tokens").out
    assert "everything" in listed
    assert "admin" not in listed
    assert muster(server, "get", "tokens", "-o", "json").document["items"][0]["scope"] == "admin"


def test_the_scope_of_tokens_is_shown(server: TinyServer) -> None:
    server.on("GET", "/tokens", Answer(200, {"items": [{"id": "1", "name": "ci", "user": "li", "scope": "submit"}]}))
    me = {"user": "li", "role": "user", "scope": "read", "server": {"version": "1"}}
    server.on("GET", "/whoami", Answer(200, me))
    assert "submit" in muster(server, "get", "tokens").out
    assert "read" in muster(server, "whoami").out


@pytest.mark.parametrize(("role", "words"), [("user", "everything that you may do"), ("admin", "admin")])
def test_a_user_with_an_unlimited_token_is_not_called_admin(server: TinyServer, role: str, words: str) -> None:
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": role, "scope": "admin", "server": {"version": "1"}}))
    lines = dict(line.split(":", 1) for line in muster(server, "whoami").out.splitlines())
    assert (lines["Role"].strip(), lines["Scope"].strip()) == (role, words)


def test_a_lifetime_needs_its_unit(server: TinyServer) -> None:
    outcome = muster(server, "tokens", "create", "ci", "--expires", "30")
    assert outcome.code == 2
    assert "30 what? Write a unit, such as 30d or 30h" in outcome.err


def test_a_token_is_for_the_last_job(server: TinyServer) -> None:
    job = with_job(server)
    server.on("POST", "/tokens", Answer(201, {"id": "7", "name": "one", "user": "li", "secret": "s"}))
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": "1"}}))
    assert muster(server, "tokens", "create", "one", "--job", "@last").code == 0
    assert server.requests("POST", "/tokens")[0].json["job"] == job["id"]


def test_a_refused_token_of_the_environment_is_named(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.on("GET", "/whoami", problem(401, "not-authenticated", "this token is not valid", hint="log in again"))
    assert "hint: log in again" in muster(server, "whoami").err
    monkeypatch.setenv("MUSTER_TOKEN", "wrong")
    assert "hint: MUSTER_TOKEN is set and used instead of your login" in muster(server, "whoami").err


def test_passwords_are_not_asked_for_without_a_terminal(server: TinyServer) -> None:
    for words in (("users", "add", "li"), ("login", server.url)):
        outcome = muster(server, *words)
        assert outcome.code == 2
        assert "use --password-stdin" in outcome.err
    short = muster(server, "users", "add", "li", "--password-stdin", stdin="short\n")
    assert "a password has at least 8 characters" in short.err
    assert not server.requests("POST", "/users")


def test_a_context_has_several_servers_with_a_token_each(server: TinyServer, home: Path) -> None:
    other = TinyServer()
    for one, token in ((server, "first"), (other, "second")):
        one.on("POST", "/login", Answer(200, {"token": token, "user": "li", "role": "user", "expiresAt": None}))
        one.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": "1"}}))
        one.on("POST", "/logout", Answer(204))
    both = f"{server.url},{other.url}"
    words = ("--name", "lab", "--user", "li", "--password-stdin")
    assert muster(None, "login", both, *words, stdin="secret\n").code == 0
    assert [one.server for one in contexts.load().known["lab"].receivers] == [server.url, other.url]
    assert f"{server.url}, {other.url}" in muster(None, "context", "list").out
    assert muster(None, "whoami", "-o", "name").out == "li\n"
    assert not other.requests("GET", "/whoami")
    server.stop()
    said = muster(None, "whoami", "-o", "name")
    assert (said.code, said.out) == (0, "li\n")
    assert f"connected to {other.url}; {server.url} does not answer: connection refused" in said.err
    assert {asked.headers.get("Authorization") for asked in other.asked} == {None, "Bearer second"}
    other.stop()
    said = muster(None, "whoami")
    assert said.code == 1
    assert "no active receiver found" in said.err
    assert f"{server.url}: connection refused" in said.err
    assert f"{other.url}: connection refused" in said.err


def test_a_server_that_does_not_answer_at_login_is_left_out(server: TinyServer, home: Path) -> None:
    gone = TinyServer()
    gone.stop()
    server.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user", "server": {"version": "1"}}))
    said = muster(None, "login", f"{gone.url},{server.url}", "--token", "t0ken")
    assert said.code == 0
    assert f"{gone.url} is left out, because it does not answer: " in said.err
    assert [one.server for one in next(iter(contexts.load().known.values())).receivers] == [server.url]


def test_logging_out_revokes_the_token_at_each_server(server: TinyServer, home: Path) -> None:
    other = TinyServer()
    for one in (server, other):
        one.on("POST", "/logout", Answer(204))
    context = Context(server.url, "first", "li", more=(Context(other.url, "second", "li"),))
    contexts.save(contexts.Contexts().with_context("lab", context))
    assert muster(None, "logout").code == 0
    assert [asked.headers["Authorization"] for asked in (*server.asked, *other.asked)] == [
        "Bearer first",
        "Bearer second",
    ]
    other.stop()
