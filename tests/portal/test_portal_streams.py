"""All windows of a browser share one stream: over HTTP/1.1 a browser has six connections to a server, and no more."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.parts.cuttable_link import CuttableLink
from tests.parts.pretend_cluster.seeding import call, submit
from tests.parts.pretend_cluster.server import pretend_server
from tests.parts.server import PATIENCE, MusterServer, polls
from tests.portal.reading import Reader, missing_parts, reader

WINDOWS = 6
LAST_LINE = "() => Number([...document.querySelectorAll('[role=log] a')].at(-1)?.textContent ?? 0)"
GROWS = "(before) => Number([...document.querySelectorAll('[role=log] a')].at(-1)?.textContent ?? 0) > before"
SMALL = {"lab": "name: lab\nbackend: pretend\nsize: 2\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    if why := missing_parts():
        pytest.skip(why)
    found = pretend_server(tmp_path_factory.mktemp("streams") / "home", files=SMALL)
    (found.home / "config.yaml").write_text("limits: {streamsPerUser: 2}\nlogFile: {path: server.log}\n")
    found.start()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="module")
def printing(server: MusterServer) -> Any:
    """A job with a worker for each window, which print a line every second."""
    worker = {"replicas": WINDOWS, "command": "python train.py", "resources": {"cpu": 1}}
    spec = {"name": "prints", "cluster": "lab", "env": {"PRETEND_S": "3600"}, "roles": {"worker": worker}}
    return submit(server, server.token, spec)


def await_streams(server: MusterServer, count: int) -> None:
    """Waits until the server has so many streams: it notices only after a while that a browser has closed one."""
    for _ in polls(30):
        if call(server, "GET", "/server/health")["process"]["streams"] == count:
            return
    pytest.fail(f"the server does not come to have {count} streams")


@pytest.fixture(autouse=True)
def nobody_else(server: MusterServer) -> None:
    """A stream of the test before would count among the two that one user may have."""
    await_streams(server, 0)


def open_logs(window: Reader, job: Any) -> list[Page]:
    """A window for each worker."""
    pages = [window.page, *[window.page.context.new_page() for _ in range(WINDOWS - 1)]]
    for index, page in enumerate(pages):
        page.goto(f"{window.base}/#/jobs/{job['id']}?tab=logs&worker=worker-{index}")
    return pages


@contextmanager
def stream_of_another_program(server: MusterServer) -> Iterator[None]:
    headers = {"Authorization": f"Bearer {server.token}"}
    url = f"{server.url}/api/v1/events?follow=true"
    with httpx.stream("GET", url, headers=headers, timeout=PATIENCE * 30) as answer:
        answer.raise_for_status()
        yield


def all_grow(pages: list[Page]) -> None:
    """Wait until each window has lines that it did not have. Each is looked at while all are there."""
    before = [page.evaluate(LAST_LINE) for page in pages]
    for page, line in zip(pages, before, strict=True):
        page.wait_for_function(GROWS, arg=line)


def test_logs_in_six_windows_all_go_on_with_one_stream(browser: Browser, server: MusterServer, printing: Any) -> None:
    with reader(browser, server.url, server.token) as window:
        pages = open_logs(window, printing)
        for page in pages:
            page.get_by_role("log").get_by_text("step").first.wait_for()
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        all_grow(pages)
        all_grow(pages)
        await_streams(server, 1)
        other = window.page.context.new_page()
        other.goto(f"{window.base}/#/jobs")
        expect(other.get_by_role("link", name="prints")).to_be_visible()
        assert window.errors == []


def test_log_of_the_server_comes_by_the_same_stream(browser: Browser, server: MusterServer, printing: Any) -> None:
    with reader(browser, server.url, server.token) as window:
        page = window.open("/admin?tab=log")
        entries = page.get_by_role("group", name="Server log")
        entries.get_by_text("serving").first.wait_for()
        other = window.page.context.new_page()
        other.goto(f"{window.base}/#/jobs/{printing['id']}?tab=logs&worker=worker-0")
        other.get_by_role("log").get_by_text("step").first.wait_for()
        for event in ("written while the page is open", "and this one, too"):
            with (server.home / "server.log").open("a") as log:
                log.write(json.dumps({"event": event, "level": "info", "timestamp": "2026-01-02T03:04:05Z"}) + "\n")
            expect(entries.get_by_text(event)).to_be_visible()
        await_streams(server, 1)
        assert window.errors == []


def test_logs_in_six_windows_go_on_after_an_outage(browser: Browser, server: MusterServer, printing: Any) -> None:
    link = CuttableLink("127.0.0.1", urlsplit(server.url).port or 0)
    with reader(browser, f"http://127.0.0.1:{link.port}", server.token) as window:
        pages = open_logs(window, printing)
        for page in pages:
            page.get_by_role("log").get_by_text("step").first.wait_for()
        link.cut()
        for page in pages:
            expect(page.get_by_text("not live since")).to_be_visible()
        link.mend()
        for page in pages:
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        all_grow(pages)


def test_window_without_shared_workers_has_a_stream_of_its_own(
    browser: Browser, server: MusterServer, printing: Any
) -> None:
    with reader(browser, server.url, server.token) as window:
        window.page.add_init_script("delete window.SharedWorker")
        page = window.open(f"/jobs/{printing['id']}?tab=logs")
        page.get_by_role("log").get_by_text("step").first.wait_for()
        before = page.get_by_role("log").inner_text()
        page.wait_for_function("(before) => document.querySelector('[role=log]').innerText !== before", arg=before)


def test_too_many_streams_are_told_with_what_to_do_and_the_page_goes_on_by_itself(
    browser: Browser, server: MusterServer, printing: Any
) -> None:
    with stream_of_another_program(server), reader(browser, server.url, server.token) as window:
        with stream_of_another_program(server):
            page = window.open(f"/jobs/{printing['id']}?tab=logs&worker=worker-0")
            notice = page.get_by_text("you have as many live connections open as one user may have")
            notice.wait_for()
            expect(page.get_by_text("Close other browsers that show the portal")).to_be_visible()
            assert window.barriers() == []
        expect(notice).to_have_count(0)
        expect(page.get_by_text("live", exact=True)).to_be_visible()
