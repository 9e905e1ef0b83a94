"""Logs on the page of a job: they go on, are searched, and may be long or hostile."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.parts.cuttable_link import CuttableLink
from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.jobs import job_of
from tests.portal.reading import PHONE, reader

LAST_LINE = "() => Number([...document.querySelectorAll('[role=log] a')].at(-1)?.textContent ?? 0)"
EACH_HAS_ITS_TEXT = """
() => [...document.querySelectorAll("[role=log] [data-index]")].every((row) => row.innerText.includes(" "))
"""
MILLION = 1_000_000
HOSTILE = "<img src=x onerror=window.hurt=1><script>window.hurt=1</script>"
RunLocally = Callable[..., Any]


@pytest.fixture(scope="module")
def running(lab: Lab) -> Any:
    return job_of(lab, "printing")


@pytest.fixture
def run_locally(lab: Lab) -> Iterator[RunLocally]:
    """Runs a job on this machine to its end. It is removed after the test: others need this cluster without a
    history."""
    made: list[str] = []

    def run(name: str, command: str, *, workers: int = 1) -> Any:
        worker = {"replicas": workers, "command": command, "resources": {"cpu": 0.1}}
        job = submit(lab.server, lab.server.token, {"name": name, "cluster": "local", "roles": {"worker": worker}})
        made.append(job["id"])
        return lab.server.wait(job["id"])

    yield run
    for job in made:
        call(lab.server, "DELETE", f"/jobs/{job}")


def test_log_follows_its_end_until_the_reader_scrolls_up(open_page: Open, running: Any) -> None:
    page = open_page("ada", f"/jobs/{running['id']}?tab=logs&worker=worker-0").page
    log = page.get_by_role("log")
    log.get_by_text("step").first.wait_for()
    first = int(log.get_by_role("link").last.inner_text())
    page.wait_for_function(f"n => ({LAST_LINE})() > n + 1", arg=first)
    numbers = [int(each) for each in log.get_by_role("link").all_inner_texts()]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert page.get_by_role("button", name="following").get_attribute("aria-pressed") == "true"


def test_log_misses_nothing_over_a_broken_connection(browser: Browser, lab: Lab, running: Any) -> None:
    link = CuttableLink("127.0.0.1", urlsplit(lab.server.url).port or 0)
    with reader(browser, f"http://127.0.0.1:{link.port}", lab.token("ada")) as window:
        page = window.open(f"/jobs/{running['id']}?tab=logs&worker=worker-1")
        page.get_by_role("log").get_by_text("step").first.wait_for()
        link.cut()
        before = page.evaluate(LAST_LINE)
        page.get_by_text("not live since").wait_for()
        link.mend()
        page.wait_for_function(f"n => ({LAST_LINE})() > n + 8", arg=before)
        page.wait_for_function(EACH_HAS_ITS_TEXT)
        rows = page.get_by_role("log").locator("[data-index]").all_inner_texts()
    numbers = [int(row.split()[0]) for row in rows]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_search_finds_lines_of_all_workers(open_page: Open, lab: Lab) -> None:
    job = job_of(lab, "searched", seconds=2)
    lab.server.wait(job["id"])
    page = open_page("ada", f"/jobs/{job['id']}?tab=logs").page
    page.get_by_role("log").get_by_text("step").first.wait_for()
    box = page.get_by_role("searchbox")
    box.fill("step     50 ")
    box.press("Enter")
    page.get_by_text("1 of 2 lines").wait_for()
    target = page.locator("[role=log] [data-target]")
    expect(target.locator("mark")).to_have_text("step     50")
    expect(target.locator("mark")).to_be_in_viewport()
    box.press("Enter")
    page.get_by_text("2 of 2 lines").wait_for()
    box.press("Enter")
    page.get_by_text("1 of 2 lines").wait_for()
    box.press("Shift+Enter")
    page.get_by_text("2 of 2 lines").wait_for()
    box.fill("")
    expect(page.get_by_text("of 2 lines")).to_have_count(0)
    expect(page.locator("[role=log] mark")).to_have_count(0)


def test_search_leads_to_lines_far_from_the_end_of_each_worker(open_page: Open, run_locally: RunLocally) -> None:
    job = run_locally("two-long", "seq -f 'line %.0f of a long training' 30000", workers=2)
    page = open_page("root", f"/jobs/{job['id']}?tab=logs&q=line+7777+of").page
    target = page.locator("[role=log] [data-target]")
    for worker_name in ("worker-0", "worker-1", "worker-0"):
        expect(page).to_have_url(re.compile(f"worker={worker_name}"))
        expect(page.get_by_role("log")).to_have_accessible_name(re.compile(worker_name))
        expect(target.locator("mark")).to_have_text("line 7777 of")
        expect(target.locator("mark")).to_be_in_viewport()
        page.get_by_role("button", name="Next match").click()
    page.reload()
    expect(target.locator("mark")).to_be_in_viewport()


def test_first_error_is_the_first_of_the_whole_log(open_page: Open, run_locally: RunLocally) -> None:
    failing = "printf 'Traceback (most recent call last):\\n  File\\nValueError: bad\\n'; seq 76544"
    end = "printf 'turned \\342\\200\\256around\\nERROR: the end\\n'; exit 1"
    job = run_locally("long", f"seq 123456; {failing}; {end}")
    page = open_page("root", f"/jobs/{job['id']}?tab=logs", width=PHONE).page
    expect(page.get_by_role("log")).to_contain_text("turned ‹U+202E›around")
    expect(page.get_by_role("button", name="To the end")).to_be_visible()
    page.get_by_role("button", name="To the first error").click()
    target = page.locator("[role=log] [data-target]")
    expect(target.get_by_role("link")).to_have_text("123457")
    expect(target.get_by_role("link")).to_be_in_viewport(ratio=0.99)


def test_million_lines_open_at_their_end_and_lead_to_any_line(open_page: Open, run_locally: RunLocally) -> None:
    job = run_locally("million", f"seq -f 'line %.0f of a long training' {MILLION}")
    page = open_page("root", f"/jobs/{job['id']}?tab=logs").page
    log = page.get_by_role("log")
    expect(log.get_by_text(f"line {MILLION} of a long training")).to_be_in_viewport()
    assert log.locator("[data-index]").count() < 200
    for line in (1, 654_321):
        page = open_page("root", f"/jobs/{job['id']}?tab=logs&worker=worker-0&line={line}").page
        expect(page.get_by_role("log").get_by_text(f"line {line} of a long training")).to_be_in_viewport()


def test_hostile_line_is_shown_as_text_and_does_nothing(open_page: Open, run_locally: RunLocally) -> None:
    """Colours are drawn; all else that a terminal would obey is taken out."""
    link = r"\033]8;;javascript:window.hurt=1\033\\click\033]8;;\033\\"
    title, colour = r"\033]0;owned\007", r"\033[31mred\033[0m"
    job = run_locally("hostile-log", f"printf '%s {title}{link}{colour} the end\\n' '{HOSTILE}'")
    page = open_page("root", f"/jobs/{job['id']}?tab=logs").page
    row = page.get_by_role("log").locator("[data-index]").first
    expect(row).to_contain_text(f"{HOSTILE} clickred the end")
    expect(row.locator("img, script, a[href^=javascript]")).to_have_count(0)
    assert page.evaluate("window.hurt") is None
    assert "owned" not in page.title()
