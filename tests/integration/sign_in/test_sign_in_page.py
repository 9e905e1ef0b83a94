"""People log in to the page with a real identity provider."""

import re
from http.cookies import SimpleCookie

import httpx

from tests.parts.form_browser import FormBrowser
from tests.parts.oidc_provider import new_key, private_jwk
from tests.parts.sign_in_site import Site


def session(site: Site, browser: FormBrowser) -> httpx.Response:
    return browser.client.get(f"{site.server.url}/api/v1/whoami")


def test_a_person_whom_nobody_knows_gets_an_account_and_a_session(site: Site, browser: FormBrowser) -> None:
    amy = site.person(groups=["staff", "vision", "no group/of Muster"])
    page = browser.log_in(f"{site.start}?target=/nodes", amy)
    assert (page.status_code, browser.seen[-1]) == (200, f"{site.server.url}/#/nodes")
    assert session(site, browser).json()["user"] == amy
    assert site.user(amy)["groups"] == ["staff", "vision"]
    assert site.user(amy)["role"] == "user"
    assert [event["actor"] for event in site.audit("login", amy)] == [amy]
    assert [event["actor"] for event in site.audit("user.create", amy)] == ["sign-in"]


def test_groups_and_role_are_read_at_each_login(site: Site, browser: FormBrowser) -> None:
    amy = site.person()
    browser.log_in(site.start, amy)
    site.change(amy, groups=["vision", "admins"], preferred_username="another name")
    assert browser.open(site.start).status_code == 200
    assert (site.user(amy)["groups"], site.user(amy)["role"]) == (["admins", "vision"], "admin")
    site.change(amy, groups=["vision"], preferred_username=amy)
    browser.open(site.start)
    assert (site.user(amy)["groups"], site.user(amy)["role"]) == (["vision"], "user")


def test_who_is_in_no_allowed_group_stays_out(site: Site, browser: FormBrowser) -> None:
    eve = site.person("eve", groups=["guests"])
    page = browser.log_in(site.start, eve)
    assert page.status_code == 403
    assert "none of the groups" in page.text
    assert session(site, browser).status_code == 401
    assert site.user(eve) is None


def test_a_disabled_user_stays_out(site: Site, browser: FormBrowser) -> None:
    amy = site.person()
    browser.log_in(site.start, amy)
    status, _ = site.server.call("PATCH", f"/api/v1/users/{amy}", {"disabled": True})
    assert status == 200
    assert session(site, browser).status_code == 401
    assert browser.open(site.start).status_code == 401
    assert session(site, browser).status_code == 401
    assert len(site.audit("login.failed", amy)) == 1


def test_tokens_of_these_people_do_not_last_for_ever(site: Site, browser: FormBrowser) -> None:
    amy = site.person()
    browser.log_in(site.start, amy)
    tokens = f"{site.server.url}/api/v1/tokens"
    own = {"X-Muster-Request": "1"}
    assert browser.client.post(tokens, json={"name": "ci"}, headers=own).json()["expiresAt"] is not None
    assert browser.client.post(tokens, json={"name": "ci", "expires": "90d"}, headers=own).status_code == 422


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(site: Site, browser: FormBrowser) -> None:
    amy = site.person()
    begun = SimpleCookie(browser.client.get(site.start).headers["set-cookie"])["muster_sign_in"]
    assert (begun["httponly"], begun["samesite"], begun["path"]) == (True, "lax", "/api/v1/login/sso")
    back = browser.log_in(site.start, amy, until=lambda url: url.startswith(site.callback))
    answer = browser.client.get(back.headers["location"])
    kept = SimpleCookie("; ".join(answer.headers.get_list("set-cookie")[:1]))["muster_session"]
    assert (kept["httponly"], kept["samesite"]) == (True, "strict")


def test_a_person_who_cancels_is_told_so(site: Site, browser: FormBrowser) -> None:
    amy = site.person()
    page = browser.open(site.start)
    cancel = re.search(r'href="([^"]*/abort)"', page.text)
    assert cancel is not None, page.text
    page = browser.open(cancel[1] if "://" in cancel[1] else f"{site.provider.issuer}{cancel[1]}")
    assert page.status_code == 403
    assert "Example has not allowed the login" in page.text
    assert site.user(amy) is None


def test_the_server_says_how_people_can_log_in(site: Site, plain_site: Site) -> None:
    assert httpx.get(f"{site.server.url}/api/v1/login").json() == {"password": True, "sso": {"name": "Example"}}
    assert httpx.get(f"{plain_site.server.url}/api/v1/login").json()["password"] is False


def test_passwords_can_be_switched_off_and_tokens_still_work(plain_site: Site) -> None:
    name = plain_site.person("local")
    plain_site.server.call("POST", "/api/v1/users", {"name": name, "password": "correct horse"})
    login = f"{plain_site.server.url}/api/v1/login"
    refused = httpx.post(login, json={"user": name, "password": "correct horse"})
    assert (refused.status_code, refused.json()["detail"]) == (403, "this server takes no passwords")
    assert httpx.post(login, json={"token": plain_site.server.token}).status_code == 200


def test_a_provider_that_says_little_in_its_token_is_asked(plain_site: Site, browser: FormBrowser) -> None:
    amy = plain_site.person()
    plain_site.change(amy, preferred_username=f"{amy}.x")
    browser.log_in(plain_site.start, amy)
    assert session(plain_site, browser).json()["user"] == f"{amy}.x"


def test_an_account_of_the_same_name_is_linked_if_the_settings_say_so(plain_site: Site, browser: FormBrowser) -> None:
    amy = plain_site.person()
    plain_site.server.call("POST", "/api/v1/users", {"name": amy, "groups": ["kept"]})
    browser.log_in(plain_site.start, amy)
    assert session(plain_site, browser).json()["user"] == amy
    assert plain_site.user(amy)["groups"] == ["kept"]
    assert len(plain_site.audit("user.link", amy)) == 1


def test_an_admin_links_a_person_to_an_account(site: Site, browser: FormBrowser) -> None:
    amy = site.person(preferred_username="no name for Muster")
    name = f"{amy}.local"
    site.server.run("users", "add", name, "--no-password", check=True)
    site.server.run("users", "link", name, "--subject", amy, check=True)
    browser.log_in(site.start, amy)
    assert session(site, browser).json()["user"] == name
    site.server.run("users", "unlink", name, check=True)
    assert session(site, browser).status_code == 401
    assert browser.open(site.start).status_code == 403


def test_a_provider_may_be_away_and_change_its_keys(plain_site: Site, browser: FormBrowser) -> None:
    amy = plain_site.person()
    browser.log_in(plain_site.start, amy)
    plain_site.provider.stop()
    back = f"{plain_site.callback}?state=unknown&code=x"
    assert browser.open(back).status_code == 401
    assert session(plain_site, browser).json()["user"] == amy
    plain_site.provider.keys = [private_jwk(new_key(), "second")]
    plain_site.provider.start()
    again = FormBrowser()
    assert again.log_in(plain_site.start, amy).status_code == 200
    assert session(plain_site, again).json()["user"] == amy
    again.close()


def test_a_name_that_nobody_can_have_makes_no_account(site: Site, browser: FormBrowser) -> None:
    amy = site.person(preferred_username="root~1 <script>")
    page = browser.log_in(site.start, amy)
    assert page.status_code == 403
    assert "no user name that Muster allows" in page.text
