"""A browser tab for tests that use other pages than the portal's, or the portal in passing."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page

from tests.portal.reading import chromium as running_chromium

MISSING = "Chromium is not installed: apt-get install chromium"
LOGGED_IN = "document.querySelector('main#content') !== null"
"""True once the portal has let somebody in."""


def chromium() -> str | None:
    return shutil.which("chromium")


class Tab:
    """One page, and what went wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())

    def go(self, url: str) -> None:
        self.page.goto(url, wait_until="commit")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(script)

    def wait_for(self, script: str, timeout_s: float = 90.0) -> Any:
        """The value of the expression once it is true. A page that is on its way to another cannot be asked."""
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(Error):
                if value := self.run(script):
                    return value
            assert time.monotonic() < deadline, f"never true: {script}\n{self.run('document.body?.innerText')}"
            self.page.wait_for_timeout(50)

    def type(self, selector: str, text: str) -> None:
        self.page.fill(selector, text)

    def click(self, selector: str) -> None:
        self.page.click(selector)

    def log_in(self, user: str, password: str) -> None:
        """As somebody who has just come to the portal; until it lets them in."""
        self.type("input[autocomplete=username]", user)
        self.type("input[autocomplete=current-password]", password)
        self.click("form button[type=submit]")
        self.wait_for(LOGGED_IN)

    def screenshot(self, path: Path) -> None:
        self.page.screenshot(path=path)


@contextlib.contextmanager
def browser_tab(url: str) -> Iterator[Tab]:
    with running_chromium() as browser:
        page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 900})
        page.set_default_timeout(90_000)
        tab = Tab(page)
        tab.go(url)
        yield tab
