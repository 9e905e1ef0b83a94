"""What is on the screen follows what happens, through broken connections and restarts of the server, too."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.parts.cuttable_link import CuttableLink
from tests.parts.pretend_cluster.seeding import PASSWORD, call, submit
from tests.parts.pretend_cluster.server import pretend_server
from tests.parts.server import MusterServer, polls
from tests.portal.conftest import Lab, Open
from tests.portal.reading import Reader, missing_parts, reader

SMALL = {"lab": "name: lab\nbackend: pretend\nsize: 2\n"}


def job(name: str, seconds: float = 3600) -> dict[str, object]:
    return {
        "name": name,
        "cluster": "lab",
        "command": "python train.py",
        "env": {"PRETEND_S": str(seconds)},
        "resources": {"gpu": 1},
    }


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    if why := missing_parts():
        pytest.skip(why)
    server = pretend_server(tmp_path_factory.mktemp("small") / "home", files=SMALL)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def window(browser: Browser, small_server: MusterServer) -> Iterator[Reader]:
    with reader(browser, small_server.url, small_server.token) as found:
        yield found
        assert found.violations() == []


def test_state_of_a_job_follows_its_changes(window: Reader, small_server: MusterServer) -> None:
    found = submit(small_server, small_server.token, job("followed"))
    page = window.open(f"/jobs/{found['id']}")
    expect(page.get_by_text("Running").first).to_be_visible()
    call(small_server, "POST", f"/jobs/{found['id']}/kill", {"grace": "0s"})
    expect(page.get_by_text("Cancelled").first).to_be_visible()


def test_change_between_the_answer_and_the_stream_is_shown(window: Reader, small_server: MusterServer) -> None:
    found = submit(small_server, small_server.token, job("changed-meanwhile"))
    window.page.add_init_script("delete window.SharedWorker")  # requests of workers cannot be held up
    window.page.route("**/api/v1/live?**", lambda route: route.abort())
    page = window.open(f"/jobs/{found['id']}")
    page.get_by_role("button", name="Stop").wait_for()
    call(small_server, "POST", f"/jobs/{found['id']}/kill", {"grace": "0s"})
    window.page.unroute("**/api/v1/live?**")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()


def test_new_job_appears_in_an_open_list(window: Reader, small_server: MusterServer) -> None:
    page = window.open("/jobs")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    submit(small_server, small_server.token, job("appears"))
    expect(page.get_by_role("link", name="appears")).to_be_visible()


def test_open_page_survives_a_restart_of_the_server(window: Reader, small_server: MusterServer) -> None:
    page = window.open("/jobs")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    small_server.kill()
    expect(page.get_by_text("not live since")).to_be_visible()
    small_server.start()
    submit(small_server, small_server.token, job("after-restart"))
    expect(page.get_by_role("link", name="after-restart")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def test_what_happened_while_the_browser_was_cut_off_is_shown_afterwards(
    browser: Browser, small_server: MusterServer
) -> None:
    link = CuttableLink("127.0.0.1", urlsplit(small_server.url).port or 0)
    with reader(browser, f"http://127.0.0.1:{link.port}", small_server.token) as window:
        page = window.open("/jobs")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        link.cut()
        expect(page.get_by_text("not live since")).to_be_visible()
        submit(small_server, small_server.token, job("meanwhile"))
        link.mend()
        expect(page.get_by_role("link", name="meanwhile")).to_be_visible()
        expect(page.get_by_text("live", exact=True)).to_be_visible()


def test_hidden_tab_has_no_stream(window: Reader, small_server: MusterServer) -> None:
    page = window.open("/jobs")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", { value: true, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    expect(page.get_by_text("live", exact=True)).to_be_hidden()
    for _ in polls(30):
        if _streams(small_server) == 0:
            return
    pytest.fail("the server still has a stream")


def _streams(server: MusterServer) -> int:
    """How many streams the server has open, by its own account."""
    return int(call(server, "GET", "/server/health")["process"]["streams"])


def test_job_that_does_not_exist_shows_nothing_of_the_one_before(open_page: Open, lab: Lab) -> None:
    newest = call(lab.server, "GET", "/jobs?limit=1")["items"][0]
    page = open_page("root", f"/jobs/{newest['id']}").page
    expect(page.get_by_role("heading", level=1, name=newest["name"])).to_be_visible()
    page.evaluate("window.location.hash = '#/jobs/no-such-job'")
    expect(page.get_by_role("alert")).to_contain_text("no-such-job")
    expect(page.get_by_text(newest["name"])).to_have_count(0)


HOSTILE = "<img src=x onerror=window.hurt=1>"


def test_hostile_labels_and_params_do_nothing(open_page: Open, lab: Lab) -> None:
    spec = job("hostile") | {
        "labels": {"note": HOSTILE},
        "params": {"p": HOSTILE},
        "env": {"PRETEND_S": "3600", "X": HOSTILE},
    }
    call(lab.server, "POST", "/users", {"name": "mallory", "password": PASSWORD})
    found = submit(lab.server, lab.token("mallory"), spec)
    page = open_page("mallory", f"/jobs/{found['id']}").page
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    is_unhurt(page)
    for path in ("/jobs?text=hostile", "/queue?running=true&owner=me", "/"):
        page = open_page("mallory", path).page
        page.get_by_role("link", name="hostile", exact=True).first.wait_for()
        is_unhurt(page)


def is_unhurt(page: Page) -> None:
    expect(page.locator("img[src=x]")).to_have_count(0)
    assert page.evaluate("window.hurt") is None
