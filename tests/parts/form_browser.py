"""A browser without a screen: it keeps cookies, follows redirects and fills in forms, as a person would."""

from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

_MOST_STEPS = 20


class FormBrowser:
    def __init__(self) -> None:
        self.client = httpx.Client(timeout=60)
        self.page: httpx.Response | None = None
        self.seen: list[str] = []
        """The addresses that the browser has been at."""

    def close(self) -> None:
        self.client.close()

    def open(self, url: str, until: Callable[[str], bool] = lambda _: False) -> httpx.Response:
        """Goes where redirects lead. Stops before an address for which `until` is true."""
        return self._follow(self.client.get(self._note(url)), until)

    def submit(
        self, filled: Mapping[str, str] | None = None, until: Callable[[str], bool] = lambda _: False
    ) -> httpx.Response:
        """Sends the form of the page."""
        assert self.page is not None
        form = form_of(self.page.text)
        assert form is not None, self.page.text
        fields = {**form.fields, **{name: value for name, value in (filled or {}).items() if name in form.fields}}
        url = self._note(urljoin(str(self.page.url), form.action))
        origin = {"Origin": "{0.scheme}://{0.netloc}".format(urlsplit(url))}
        return self._follow(self.client.request(form.method, url, data=fields, headers=origin), until)

    def log_in(self, url: str, subject: str, until: Callable[[str], bool] = lambda _: False) -> httpx.Response:
        """Goes through all forms of the identity provider, until there are none, they are Muster's own, or `until` is
        true."""
        page = self.open(url, until)
        for _ in range(_MOST_STEPS):
            form = None if page.has_redirect_location else form_of(page.text)
            if form is None or form.action.startswith("/api/") or page.url.path == "/":
                return page
            page = self.submit({"login": subject, "password": "any"}, until)
        raise AssertionError(f"there is no end of forms: {page.text}")

    def _follow(self, answer: httpx.Response, until: Callable[[str], bool]) -> httpx.Response:
        while answer.has_redirect_location:
            url = urljoin(str(answer.url), answer.headers["location"])
            if until(url):
                break
            answer = self.client.get(self._note(url))
        self.page = answer
        return answer

    def _note(self, url: str) -> str:
        self.seen.append(url)
        return url


class Form(HTMLParser):
    """The first form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.action, self.method = "", ""
        self.fields: dict[str, str] = {}
        self._is_done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form" and not self.method:
            self.action, self.method = given.get("action") or "", (given.get("method") or "get").upper()
        elif tag in ("input", "button") and self.method and not self._is_done and (name := given.get("name")):
            self.fields[name] = given.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self.method:
            self._is_done = True


def form_of(html: str) -> Form | None:
    found = Form()
    found.feed(html)
    return found if found.method else None
