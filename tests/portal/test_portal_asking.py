"""Open pages are told what changes, and ask for little themselves: many of them must not slow the jobs down."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer
from tests.portal.reading import PATIENCE_MS, Reader, missing_parts, reader

JOBS = 30
COUNTED_AGAIN_S = 30
"""The least time between two counts of an open list."""
SMALL = {"lab": "name: lab\nbackend: pretend\nsize: 1\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    if why := missing_parts():
        pytest.skip(why)
    with running_pretend_server(tmp_path_factory.mktemp("asking") / "home", files=SMALL) as found:
        yield found


@pytest.fixture
def window(browser: Browser, server: MusterServer) -> Iterator[Reader]:
    with reader(browser, server.url, server.token) as found:
        yield found
        assert found.violations() == []
        assert found.errors == []


def begin(server: MusterServer, name: str, *, seconds: float = 1.0, gpu: int = 0) -> Any:
    spec = {"name": name, "cluster": "lab", "command": "python train.py", "env": {"PRETEND_S": str(seconds)}}
    return submit(server, server.token, {**spec, "resources": {"cpu": 1, "gpu": gpu}})


def requests_of(page: Page) -> list[str]:
    """The addresses that the page asks for from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url))
    return found


def test_open_list_asks_for_nothing_while_jobs_come(window: Reader, server: MusterServer) -> None:
    begin(server, "first")
    page = window.open("/jobs")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.get_by_text("1 job", exact=True)).to_be_visible()
    asked = requests_of(page)
    began = time.monotonic()
    for number in range(JOBS):
        begin(server, f"counted-{number:02d}")
        expect(page.get_by_role("link", name=f"counted-{number:02d}")).to_be_visible()
    expect(page.get_by_text(f"{JOBS + 1} jobs", exact=True)).to_be_visible()
    lists = [url for url in asked if "/api/v1/jobs?" in url]
    counts = [url for url in lists if "total=true" in url]
    assert len(counts) <= (time.monotonic() - began) / COUNTED_AGAIN_S
    assert lists == counts


def test_count_of_a_state_follows_jobs_into_it_and_out_of_it(window: Reader, server: MusterServer) -> None:
    page = window.open("/jobs?state=%5B%22Succeeded%22%5D&text=%22ends%22")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.get_by_text("0 jobs", exact=True)).to_be_visible()
    for number in range(3):
        begin(server, f"ends-{number}")
    expect(page.get_by_text("3 jobs", exact=True)).to_be_visible()


def asks_again(page: Page, server: MusterServer, path: str) -> None:
    """Waits until the page asks for it once more, while jobs of somebody come and go."""
    asked = requests_of(page)
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not any(f"/api/v1/{path}" in url for url in asked):
        assert time.monotonic() < deadline, asked
        begin(server, f"passes-{time.monotonic_ns()}")
        page.wait_for_timeout(500)


def test_home_and_the_page_of_a_waiting_job_follow_the_queue(window: Reader, server: MusterServer) -> None:
    begin(server, "runs", seconds=3600, gpu=8)
    waits = begin(server, "waits", gpu=8)
    with window.page.expect_response(lambda answer: "/api/v1/schedule?" in answer.url):
        page = window.open("/")
    expect(page.get_by_role("link", name="waits", exact=True)).to_be_visible()
    asks_again(page, server, "schedule?")
    asks_again(page, server, "quotas?")
    page = window.open(f"/jobs/{waits['id']}")
    expect(page.get_by_role("region", name="Why it waits")).to_be_visible()
    asks_again(page, server, f"jobs/{waits['id']}/explain")


def test_home_asks_for_no_expected_starts_while_nobody_waits(window: Reader, server: MusterServer) -> None:
    for job in call(server, "GET", "/jobs?state=Queued,Running&limit=1000")["items"]:
        call(server, "POST", f"/jobs/{job['id']}/kill", {"grace": "0s"})
    page = window.open("/")
    expect(page.get_by_text("None of your jobs waits.")).to_be_visible()
    asked = requests_of(page)
    asks_again(page, server, "quotas?")
    assert [url for url in asked if "/schedule?" in url] == []
