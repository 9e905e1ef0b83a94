"""Attacks on logins with an identity provider, each against a real one."""

import re
import secrets
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from muster.lib.pkce import challenge_of, new_verifier
from tests.parts.form_browser import FormBrowser
from tests.parts.oidc_provider import CLIENT_SECRET, ProviderMissing
from tests.parts.sign_in_site import Site, running_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    try:
        with running_site(tmp_path_factory.mktemp("attacked"), {"linkByName": True}) as running:
            yield running
    except ProviderMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def victim() -> Iterator[FormBrowser]:
    browser = FormBrowser()
    yield browser
    browser.close()


@pytest.fixture
def attacker() -> Iterator[FormBrowser]:
    browser = FormBrowser()
    yield browser
    browser.close()


def who(site: Site, browser: FormBrowser) -> str:
    answer = browser.client.get(f"{site.server.url}/api/v1/whoami")
    return str(answer.json()["user"]) if answer.status_code == 200 else ""


def way_back(site: Site, browser: FormBrowser, subject: str) -> str:
    """The address to which the provider sends the browser after the login, not opened yet."""
    page = browser.log_in(site.start, subject, until=lambda url: url.startswith(site.callback))
    return str(page.headers["location"])


@pytest.mark.parametrize("role", ["admin", "user"])
def test_somebody_who_is_called_like_a_user_is_not_that_user(
    site: Site, attacker: FormBrowser, victim: FormBrowser, role: str
) -> None:
    """Names are linked on this server, but neither that of an admin nor that of a person who is linked already."""
    name = site.person("victim")
    if role == "admin":
        site.server.call("POST", "/api/v1/users", {"name": name, "role": "admin"})
    else:
        victim.log_in(site.start, name)
        assert who(site, victim) == name
    eve = site.person("eve", preferred_username=name)
    page = attacker.log_in(site.start, eve)
    assert page.status_code == 403
    assert "another account" in page.text
    assert who(site, attacker) == ""
    assert site.user(name)["role"] == role


def test_a_name_that_is_free_again_inherits_nothing(site: Site, victim: FormBrowser, attacker: FormBrowser) -> None:
    name = site.person("gone")
    victim.log_in(site.start, name)
    before = site.user(name)["id"]
    site.server.call("DELETE", f"/api/v1/users/{name}")
    eve = site.person("eve", preferred_username=name)
    attacker.log_in(site.start, eve)
    assert site.user(name)["id"] != before
    assert victim.open(site.start).status_code == 403, "the name belongs to somebody else now"


def test_a_link_with_a_foreign_login_logs_nobody_in(site: Site, victim: FormBrowser, attacker: FormBrowser) -> None:
    eve = site.person("eve")
    link = way_back(site, attacker, eve)
    assert victim.open(link).status_code == 401
    victim.open(site.start)
    assert victim.open(link).status_code == 401, "not even while another login has begun"
    assert who(site, victim) == ""


def test_an_answer_is_used_once(site: Site, victim: FormBrowser) -> None:
    amy = site.person()
    link = way_back(site, victim, amy)
    cookie = victim.client.cookies["muster_sign_in"]
    assert victim.open(link).status_code == 200
    assert who(site, victim) == amy
    victim.client.cookies.clear()
    victim.client.cookies.set("muster_sign_in", cookie)
    assert victim.open(link).status_code == 401
    assert who(site, victim) == ""


def test_a_stolen_code_is_worthless_in_another_login(site: Site, victim: FormBrowser, attacker: FormBrowser) -> None:
    amy = site.person()
    stolen = parse_qs(urlsplit(way_back(site, victim, amy)).query)["code"][0]
    own = attacker.client.get(site.start).headers["location"]
    state = parse_qs(urlsplit(own).query)["state"][0]
    page = attacker.open(f"{site.callback}?{urlencode({'code': stolen, 'state': state, 'iss': site.provider.issuer})}")
    assert page.status_code == 401
    assert "invalid_grant" in page.text
    assert who(site, attacker) == ""


def test_an_answer_of_another_provider_is_refused(site: Site, victim: FormBrowser) -> None:
    link = way_back(site, victim, site.person())
    assert "iss=" in link
    tampered = re.sub(r"iss=[^&]*", "iss=https%3A%2F%2Fevil.example.org", link)
    assert victim.open(tampered).status_code == 401
    other = way_back(site, victim, site.person())
    assert victim.open(re.sub(r"&iss=[^&]*", "", other)).status_code == 401


def test_the_address_of_the_way_back_cannot_be_chosen(site: Site, victim: FormBrowser) -> None:
    answer = httpx.get(f"{site.start}?here=true", headers={"Host": "evil.example.org"})
    redirect = parse_qs(urlsplit(answer.headers["location"]).query)["redirect_uri"]
    assert redirect == [site.callback]
    answer = httpx.get(site.start, headers={"Host": "evil.example.org"})
    assert answer.headers["location"].startswith(f"{site.start}?")
    own = victim.client.get(answer.headers["location"]).headers["location"]
    page = victim.open(own.replace(urlencode({"u": site.callback})[2:], "https%3A%2F%2Fevil.example.org%2F"))
    assert (page.status_code, urlsplit(str(page.url)).netloc) == (400, urlsplit(site.provider.issuer).netloc)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example.org/",
        "//evil.example.org/",
        "/\\evil.example.org",
        "\\\\evil.example.org",
        "/x\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "@evil.example.org",
        "",
    ],
)
def test_no_target_leads_away_from_the_server(site: Site, victim: FormBrowser, target: str) -> None:
    page = victim.log_in(f"{site.start}?{urlencode({'target': target})}", site.person())
    assert page.status_code == 200
    assert victim.seen[-1].startswith(f"{site.server.url}/#/")
    assert page.url.host == "127.0.0.1"


def test_a_link_gives_nobody_elses_command_a_token(site: Site, victim: FormBrowser, attacker: FormBrowser) -> None:
    """The attacker begins a login of a command and sends the victim the link. Without the victim's consent in the same
    browser there is no code, and a code is for one use by the command that began."""
    verifier = new_verifier()
    link = f"{site.start}?{urlencode({'challenge': challenge_of(verifier)})}"
    page = victim.log_in(link, site.person())
    assert page.status_code == 200
    asked = re.search(r'action="([^"]+)"', page.text)
    assert asked is not None
    assert "muster_session" not in victim.client.cookies
    confirm = f"{site.server.url}{asked[1]}"
    assert attacker.client.post(confirm).status_code == 401
    assert victim.client.post(confirm).status_code == 401, "the question was used up"


def test_a_code_is_for_the_command_that_began_and_for_one_use(site: Site, victim: FormBrowser) -> None:
    amy, verifier = site.person(), new_verifier()
    login = f"{site.server.url}/api/v1/login"

    def a_code() -> str:
        victim.log_in(f"{site.start}?{urlencode({'challenge': challenge_of(verifier)})}", amy)
        shown = re.search(r'<code id="code">([^<]+)</code>', victim.submit().text)
        assert shown is not None
        return shown[1]

    code = a_code()
    assert httpx.post(login, json={"code": code, "verifier": new_verifier()}).status_code == 401
    assert httpx.post(login, json={"code": code, "verifier": verifier}).status_code == 401, "it was used up"
    code = a_code()
    assert httpx.post(login, json={"code": code, "verifier": verifier}).json()["user"] == amy
    assert httpx.post(login, json={"code": code, "verifier": verifier}).status_code == 401


def test_only_ports_of_the_persons_own_machine_get_a_code(site: Site) -> None:
    for port in ("0", "70000", "80@evil.example.org", "evil.example.org"):
        query = urlencode({"challenge": challenge_of(new_verifier()), "port": port})
        assert httpx.get(f"{site.start}?{query}").status_code == 400


def test_what_the_address_says_is_not_shown_as_markup(site: Site, victim: FormBrowser) -> None:
    own = victim.client.get(site.start).headers["location"]
    state = parse_qs(urlsplit(own).query)["state"][0]
    query = urlencode({"state": state, "error": "<script>alert(1)</script>", "error_description": "<b>call us</b>"})
    page = victim.open(f"{site.callback}?{query}")
    assert page.status_code == 403
    assert "<script" not in page.text
    assert "call us" not in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]


def test_guesses_are_slowed_down(site: Site) -> None:
    login = f"{site.server.url}/api/v1/login"
    answers = [httpx.post(login, json={"code": secrets.token_hex(8), "verifier": "x"}).status_code for _ in range(7)]
    assert set(answers) == {401, 429}
    assert answers[-1] == 429


def test_secrets_are_in_no_log(site: Site) -> None:
    log = (site.server.home / "stderr.log").read_text()
    assert CLIENT_SECRET not in log
    assert "eyJ" not in log, "no token of the provider"
