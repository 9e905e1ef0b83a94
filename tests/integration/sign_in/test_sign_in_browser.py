"""The button of the page, and the consent to a login of the command, in a real browser with its own rules."""

import threading

import pytest

from muster.client.client import Client
from muster.client.sso_login import BrowserLogin, Listener
from tests.e2e.browsing import MISSING, browser_tab, chromium
from tests.parts.sign_in_site import Site

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]
SSO = 'a[href^="/api/v1/login/sso"]'


def test_a_person_signs_in_on_the_page_and_then_on_the_command_line(site: Site) -> None:
    amy = site.person()
    with browser_tab(f"{site.server.url}/#/cluster") as tab:
        tab.wait_for(f"document.querySelector('{SSO}')?.textContent === 'Sign in with Example'")
        tab.click(SSO)
        tab.wait_for("document.querySelector('input[name=login]') !== null")
        tab.type("input[name=login]", amy)
        tab.type("input[name=password]", "any")
        tab.run("document.querySelector('form').requestSubmit()")
        tab.wait_for("document.querySelector('input[name=prompt][value=consent]') !== null")
        tab.run("document.querySelector('form').requestSubmit()")
        tab.wait_for(f"document.querySelector('header')?.textContent.includes('{amy}')")
        tab.wait_for("location.hash === '#/cluster' && document.querySelector('h1')?.textContent === 'Cluster'")
        with Listener() as listener:
            login = BrowserLogin(Client(site.server.url, ""), listener.port)
            codes: list[str] = []
            waiting = threading.Thread(target=lambda: codes.append(listener.code(login.state)), daemon=True)
            waiting.start()
            tab.go(login.address)
            tab.wait_for(f"document.querySelector('#code')?.textContent === '{login.shown_code}'")
            tab.click("form button")
            tab.wait_for("document.body.innerText.includes('You are logged in on the command line')")
            waiting.join(60)
        assert login.complete(codes[0], "test")["user"] == amy
        assert tab.errors == []
