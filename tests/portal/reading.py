"""A browser for tests: pages of a person, watched for everything that must not happen on them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Page, Request, expect, sync_playwright

from tests.parts.server import PATIENCE

ROOT = Path(__file__).parents[2]
AXE = ROOT / "portal" / "node_modules" / "axe-core" / "axe.min.js"
BUILT = ROOT / "src" / "muster" / "server" / "portal" / "index.html"
PATIENCE_MS = PATIENCE * 30_000
"""How long a condition may take to come true. Only a test that fails waits for it."""
WIDE, PHONE = 1400, 390
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
_NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
_TRIES = 5
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_TELL_VIOLATIONS = """
window.policyViolations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.policyViolations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""


def missing_parts() -> str:
    """Why there can be no test in a browser; empty if there can."""
    if not shutil.which("chromium"):
        return "Chromium is not installed: apt-get install chromium"
    if not BUILT.exists():
        return "the portal is not built: make setup"
    return "" if AXE.exists() else "axe is not installed: python scripts/build_portal.py --dev"


@dataclass
class Reader:
    """One person at one browser window."""

    base: str
    page: Page
    errors: list[str] = field(default_factory=list)

    torn: list[str] = field(default_factory=list)
    """Files that Chromium gave up because a network interface appeared or went away on this machine."""

    def open(self, path: str) -> Page:
        """Other tests make network interfaces at any time, for which Chromium drops everything that is under way."""
        for _ in range(_TRIES):
            self.torn.clear()
            try:
                self.page.goto(f"{self.base}/#{path}")
            except Error as error:
                if _NETWORK_CHANGED not in error.message:
                    raise
                continue
            if not self.torn:
                break
            self.page.goto("about:blank")  # an address that differs only behind # is not loaded anew
        return self.page

    def watch(self) -> None:
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("requestfailed", self._note_torn)

    def _note_torn(self, request: Request) -> None:
        if request.failure == _NETWORK_CHANGED and request.resource_type in ("script", "stylesheet"):
            self.torn.append(request.url)

    def violations(self) -> list[str]:
        """What the content security policy has refused on the page."""
        found = self.page.evaluate("window.policyViolations ?? []")
        return [str(each) for each in found]

    def await_loaded(self) -> None:
        """Waits until no part of the page is still on its way."""
        expect(self.page.locator(".mantine-Loader-root")).to_have_count(0)

    def barriers(self) -> list[str]:
        """What axe finds when the page is loaded: the rule, and where. It loads no style sheets itself, which the
        policy would refuse."""
        self.await_loaded()
        self.page.evaluate(AXE.read_text())
        result: Any = self.page.evaluate("async () => (await axe.run(document, { preload: false })).violations")
        return [f"{rule['id']}: {node['html'][:200]}" for rule in result for node in rule["nodes"]]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def reader(
    browser: Browser,
    base: str,
    token: str | None,
    *,
    language: str = "en",
    width: int = WIDE,
    height: int = 900,
    dark: bool = False,
) -> Iterator[Reader]:
    """A window in which the person with this token is logged in."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale=LOCALES[language],
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_TELL_VIOLATIONS)
    try:
        if token is not None:
            login = {"token": token, "name": "browser"}
            answer = context.request.post(f"{base}/api/v1/login", data=login, headers={"X-Muster-Request": "1"})
            assert answer.ok, answer.text()
        found = Reader(base, context.new_page())
        found.watch()
        yield found
        if token is not None:
            context.request.post(f"{base}/api/v1/logout", headers={"X-Muster-Request": "1"})
    finally:
        context.close()
