"""A person logs in to the page with a real identity provider."""

from tests.parts.form_browser import FormBrowser
from tests.parts.sign_in_site import Site


def test_a_person_whom_nobody_knows_gets_an_account_and_a_session(site: Site, browser: FormBrowser) -> None:
    amy = site.person(groups=["staff", "vision"])
    page = browser.log_in(f"{site.start}?target=/nodes", amy)
    assert (page.status_code, browser.seen[-1]) == (200, f"{site.server.url}/#/nodes")
    assert browser.client.get(f"{site.server.url}/api/v1/whoami").json()["user"] == amy
    assert site.user(amy)["groups"] == ["staff", "vision"]
    assert site.user(amy)["role"] == "user"
