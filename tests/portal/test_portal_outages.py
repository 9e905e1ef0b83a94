"""Pages go on by themselves: after a server that did not answer, an upgrade of it, and the end of a login."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.parts.cuttable_link import CuttableLink
from tests.parts.pretend_cluster.seeding import PASSWORD, call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.reading import Reader, reader


@pytest.fixture
def link(lab: Lab) -> CuttableLink:
    return CuttableLink("127.0.0.1", urlsplit(lab.server.url).port or 0)


@pytest.fixture
def window(browser: Browser, lab: Lab, link: CuttableLink) -> Iterator[Reader]:
    """A window of ada, whose way to the server can be cut."""
    with reader(browser, f"http://127.0.0.1:{link.port}", lab.token("ada")) as found:
        yield found
        assert found.violations() == []
        assert found.errors == []


@pytest.fixture(scope="module")
def running(lab: Lab) -> Any:
    worker = {"replicas": 2, "command": "python train.py", "resources": {"cpu": 1}}
    spec = {"name": "goes-on", "cluster": "speech", "env": {"PRETEND_S": "1800"}, "roles": {"worker": worker}}
    return submit(lab.server, lab.token("ada"), spec)


def choose_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def test_log_that_was_opened_without_a_connection_comes_by_itself(
    window: Reader, link: CuttableLink, running: Any
) -> None:
    page = window.open(f"/jobs/{running['id']}?tab=logs&worker=worker-0")
    page.get_by_role("log").get_by_text("step").first.wait_for()
    choose_tab(page, "Workers")
    page.get_by_role("row", name="worker-1").wait_for()
    link.cut()
    choose_tab(page, "Logs")
    page.get_by_text("The server does not answer.").first.wait_for()
    link.mend()
    page.get_by_role("log").get_by_text("step").first.wait_for()


def test_data_stays_on_the_screen_with_one_notice_until_the_server_is_back(
    window: Reader, link: CuttableLink, running: Any
) -> None:
    page = window.open(f"/jobs/{running['id']}")
    row = page.get_by_role("row", name="worker-1")
    row.wait_for()
    link.cut()
    page.evaluate(
        "['offline', 'online'].forEach((name) => window.dispatchEvent(new Event(name)))"
    )  # what is shown is asked for again
    notice = page.get_by_text("The server does not answer. Shown as of")
    notice.wait_for()
    expect(notice).to_have_count(1)
    expect(row).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    link.mend()
    expect(notice).to_have_count(0)
    expect(row).to_be_visible()


def test_page_that_is_opened_during_a_short_outage_of_the_api_appears(open_page: Open) -> None:
    window = open_page(None, "/schedule")
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        if len(refused) <= 2:
            route.abort("connectionrefused")
        else:
            route.continue_()

    window.page.route("**/api/v1/whoami", refuse)
    window.page.reload()
    window.page.get_by_role("heading", level=1, name="Log in to Muster").wait_for()
    assert len(refused) > 2


def test_end_of_a_login_elsewhere_leads_to_the_login_page_and_back(open_page: Open, lab: Lab) -> None:
    call(lab.server, "POST", "/users", {"name": "revoked", "password": PASSWORD})
    window = open_page(None, "/cluster?show=owner")
    page = window.page
    enter(page, "revoked")
    page.get_by_role("heading", level=1, name="Cluster").wait_for()
    page.get_by_text("live", exact=True).wait_for()
    address = page.url
    for token in call(lab.server, "GET", "/tokens?user=revoked")["items"]:
        call(lab.server, "DELETE", f"/tokens/{token['id']}")
    page.get_by_role("heading", level=1, name="Log in to Muster").wait_for()
    assert page.url == address
    enter(page, "revoked")
    page.get_by_role("heading", level=1, name="Cluster").wait_for()


def enter(page: Page, user: str) -> None:
    page.get_by_role("textbox", name="User").fill(user)
    page.get_by_role("textbox", name="Password, or a token").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_page_whose_code_is_gone_begins_anew_once(open_page: Open) -> None:
    window = open_page("ada", "/jobs")
    page = window.page
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    page.route("**/portal/assets/SchedulePage-*.js", lambda route: route.fulfill(status=404))
    page.get_by_role("link", name="Schedule").click()
    page.get_by_text("A part of this page could not be loaded.").wait_for()
    assert len(loads) == 1
    page.unroute("**/portal/assets/SchedulePage-*.js")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", level=1, name="Schedule").wait_for()
    window.errors.clear()  # the code that was missing


def test_page_left_open_over_an_upgrade_goes_on_with_the_new_version(open_page: Open) -> None:
    window = open_page("ada", "/jobs")
    page = window.page
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    page.route("**/portal/assets/QueuePage-*.js", lambda route: route.fulfill(status=404), times=1)
    page.get_by_role("link", name="Queue").click()
    page.get_by_role("heading", level=1, name="Queue").wait_for()
    window.errors.clear()
