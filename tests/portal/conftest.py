"""The parts that tests of the portal share: one browser and one server with a pretended cluster for each process."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.parts.pretend_cluster.seeding import PASSWORD, call, seed
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer
from tests.portal.reading import PATIENCE_MS, Reader, chromium, missing_parts, reader

LONG_S = 7200.0
"""The seeded jobs that are not short run for at least a quarter of this, which is longer than the tests."""
expect.set_options(timeout=PATIENCE_MS)
Open = Callable[..., Reader]
Read = Callable[..., AbstractContextManager[Reader]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.portal)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if why := missing_parts():
        pytest.skip(why)
    with chromium() as found:
        yield found


@dataclass
class Lab:
    server: MusterServer
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, person: str) -> str:
        if person == "root":
            return self.server.token
        if person not in self.tokens:
            login = {"user": person, "password": PASSWORD, "name": "tests"}
            self.tokens[person] = str(call(self.server, "POST", "/login", login)["token"])
        return self.tokens[person]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """40 nodes, six users and 60 jobs: each outlasts the tests, or ends within seconds."""
    if why := missing_parts():
        pytest.skip(why)
    with running_pretend_server(tmp_path_factory.mktemp("lab") / "home") as server:
        seed(server, seconds=LONG_S)
        yield Lab(server)


@pytest.fixture
def open_page(browser: Browser, lab: Lab) -> Iterator[Open]:
    """Opens windows of people. Whatever a test looks at, no page may have an error or break the policy."""
    opened: list[Reader] = []
    with ExitStack() as stack:

        def open_as(person: str | None = "root", path: str = "/", **options: object) -> Reader:
            token = None if person is None else lab.token(person)
            window = reader(browser, lab.server.url, token, **options)  # type: ignore[arg-type]
            found = stack.enter_context(window)
            opened.append(found)
            found.open(path)
            return found

        yield open_as
        for each in opened:
            assert each.violations() == []
            assert each.errors == []


@pytest.fixture(scope="module")
def kept_windows() -> Iterator[tuple[ExitStack, dict[str, Reader]]]:
    with ExitStack() as stack:
        yield stack, {}


@pytest.fixture
def read_page(browser: Browser, lab: Lab, kept_windows: tuple[ExitStack, dict[str, Reader]]) -> Read:
    """Loads a page in a window that tests of the module share, for tests that only look: a window of one's own costs
    more than the page. No page may have an error or break the policy."""
    stack, windows = kept_windows

    @contextmanager
    def read(path: str, **options: object) -> Iterator[Reader]:
        key = repr(sorted(options.items()))
        if key not in windows:
            windows[key] = stack.enter_context(reader(browser, lab.server.url, lab.token("root"), **options))  # type: ignore[arg-type]
        window = windows[key]
        window.page.goto("about:blank")  # an address that differs only behind # is not loaded anew
        window.errors.clear()
        window.open(path)
        yield window
        assert window.violations() == []
        assert window.errors == []

    return read
