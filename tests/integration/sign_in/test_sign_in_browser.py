"""The button of the page, and the consent to a login of the command, in a real browser with its own rules."""

import threading
from contextlib import suppress

import pytest

from muster.client.client import Client
from muster.client.sso_login import BrowserLogin, Listener
from tests.e2e.browsing import MISSING, Tab, browser_tab, chromium
from tests.parts.server import polls
from tests.parts.sign_in_site import Site

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]


def arrives(tab: Tab, script: str) -> None:
    """The expression is true once the browser is there. It cannot be asked while it is on its way."""
    for _ in polls(60):
        with suppress(AssertionError):
            if tab.run(script):
                return
    raise AssertionError(f"never true: {script}\n{tab.run('document.body?.innerText')}")


def test_a_person_signs_in_on_the_page_and_then_on_the_command_line(site: Site) -> None:
    amy = site.person()
    with browser_tab(f"{site.server.url}/#/nodes") as tab:
        arrives(tab, "document.querySelector('#sso-link')?.textContent === 'Sign in with Example'")
        tab.click("#sso-link")
        arrives(tab, "document.querySelector('input[name=login]') !== null")
        tab.type("input[name=login]", amy)
        tab.type("input[name=password]", "any")
        tab.run("document.querySelector('form').requestSubmit()")
        arrives(tab, "document.querySelector('input[name=prompt][value=consent]') !== null")
        tab.run("document.querySelector('form').requestSubmit()")
        arrives(tab, f"document.querySelector('#who')?.textContent.startsWith('{amy}')")
        arrives(tab, "location.hash === '#/nodes' && !document.querySelector('#machines').hidden")
        with Listener() as listener:
            login = BrowserLogin(Client(site.server.url, ""), listener.port)
            codes: list[str] = []
            waiting = threading.Thread(target=lambda: codes.append(listener.code(login.state)), daemon=True)
            waiting.start()
            tab.ask("Page.navigate", url=login.address)
            arrives(tab, f"document.querySelector('#code')?.textContent === '{login.shown_code}'")
            tab.click("form button")
            arrives(tab, "document.body.innerText.includes('You are logged in on the command line')")
            waiting.join(60)
        assert login.complete(codes[0], "test")["user"] == amy
        assert tab.errors == []
