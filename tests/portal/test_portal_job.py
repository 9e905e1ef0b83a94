"""The page of one job: what it says, its logs, its acts, and what it shows to whom."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.parts.cuttable_link import CuttableLink
from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.reading import PHONE, WIDE, reader

LAST_LINE = "() => Number([...document.querySelectorAll('[role=log] a')].at(-1)?.textContent ?? 0)"
TABS = ("workers", "logs", "metrics", "timeline", "outputs", "spec", "spec&spec=effective", "environment")


def job_of(lab: Lab, name: str, *, seconds: int = 1800, workers: int = 2, owner: str = "ada", code: int = 0) -> Any:
    """A job of the owner that prints a line every second."""
    env = {"PRETEND_S": str(seconds), "PRETEND_EXIT": str(code)}
    worker = {"replicas": workers, "command": "python train.py", "resources": {"cpu": 1}}
    spec = {"name": name, "cluster": "speech", "env": env, "roles": {"worker": worker}}
    return submit(lab.server, lab.token(owner), spec)


@pytest.fixture(scope="module")
def running(lab: Lab) -> Any:
    return job_of(lab, "pair")


@pytest.mark.parametrize("width", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("tab", TABS)
def test_each_tab_is_whole(open_page: Open, running: Any, tab: str, width: int) -> None:
    window = open_page("ada", f"/jobs/{running['id']}?tab={tab}", width=width)
    window.page.get_by_role("heading", level=1, name="pair").wait_for()
    expect(window.page.get_by_role("tabpanel").get_by_label("Loading…")).to_have_count(0)
    assert window.page.evaluate("document.documentElement.scrollWidth") <= width
    assert window.barriers() == []


def test_dark_logs_have_no_barrier(open_page: Open, running: Any) -> None:
    window = open_page("ada", f"/jobs/{running['id']}?tab=logs", dark=True, language="zh")
    window.page.get_by_role("log").wait_for()
    assert window.barriers() == []


def test_state_changes_on_the_screen_by_itself(open_page: Open, lab: Lab) -> None:
    job = job_of(lab, "stopped-elsewhere")
    page = open_page("ada", f"/jobs/{job['id']}").page
    page.get_by_role("button", name="Stop").wait_for()
    call(lab.server, "POST", f"/jobs/{job['id']}/kill", None, lab.token("ada"))
    page.get_by_role("button", name="Retry").wait_for()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def test_act_shows_its_command_and_is_done(open_page: Open, lab: Lab) -> None:
    job = job_of(lab, "stopped-here")
    page = open_page("ada", f"/jobs/{job['id']}").page
    page.get_by_role("button", name="Stop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(f"muster kill {job['id']}").wait_for()
    dialog.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Retry").wait_for()


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
        rows = page.get_by_role("log").locator("[data-index]").all_inner_texts()
    numbers = [int(row.split()[0]) for row in rows]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert all(" " in row for row in rows)  # each has its text


def test_search_finds_lines_of_all_workers(open_page: Open, running: Any) -> None:
    page = open_page("ada", f"/jobs/{running['id']}?tab=logs").page
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


def test_search_leads_to_lines_far_from_the_end_of_each_worker(open_page: Open, lab: Lab) -> None:
    command = "seq -f 'line %.0f of a long training' 30000"
    worker = {"replicas": 2, "command": command, "resources": {"cpu": 0.1}}
    job = submit(lab.server, lab.server.token, {"name": "two-long", "cluster": "local", "roles": {"worker": worker}})
    until_ended(lab, job["id"])
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
    call(lab.server, "DELETE", f"/jobs/{job['id']}")  # other tests need this cluster without a history


def test_first_error_is_the_first_of_the_whole_log(open_page: Open, lab: Lab) -> None:
    failing = "printf 'Traceback (most recent call last):\\n  File\\nValueError: bad\\n'; seq 76544"
    end = "printf 'turned \\342\\200\\256around\\nERROR: the end\\n'; exit 1"
    worker = {"replicas": 1, "command": f"seq 123456; {failing}; {end}", "resources": {"cpu": 0.1}}
    job = submit(lab.server, lab.server.token, {"name": "long", "cluster": "local", "roles": {"worker": worker}})
    until_ended(lab, job["id"])
    page = open_page("root", f"/jobs/{job['id']}?tab=logs", width=PHONE).page
    expect(page.get_by_role("log")).to_contain_text("turned ‹U+202E›around")
    expect(page.get_by_role("button", name="To the end")).to_be_visible()
    page.get_by_role("button", name="To the first error").click()
    target = page.locator("[role=log] [data-target]")
    expect(target.get_by_role("link")).to_have_text("123457")
    expect(target.get_by_role("link")).to_be_in_viewport(ratio=0.99)
    call(lab.server, "DELETE", f"/jobs/{job['id']}")  # other tests need this cluster without a history


def until_ended(lab: Lab, job: str) -> None:
    while call(lab.server, "GET", f"/jobs/{job}/wait?timeout=30")["state"] not in ("Succeeded", "Failed"):
        pass


@pytest.mark.parametrize("address", ["/jobs/{name}?tab=nonsense", "/jobs/{name}?tab=logs&nonsense=1"])
def test_address_with_something_unknown_shows_the_job(open_page: Open, running: Any, address: str) -> None:
    page = open_page("ada", address.format(name=running["name"])).page
    expect(page.get_by_role("heading", level=1)).to_contain_text(running["name"])


def test_language_in_front_of_the_address_leaves_the_view_as_it_is(open_page: Open, lab: Lab, running: Any) -> None:
    page = open_page("ada").page
    page.goto(f"{lab.server.url}/?lang=zh#/jobs/{running['name']}?tab=logs")
    expect(page.get_by_role("tab", name="日志")).to_have_attribute("aria-selected", "true")
    assert page.url.endswith(f"/#/jobs/{running['name']}?tab=logs")


def test_job_that_does_not_exist_shows_only_the_error(open_page: Open, running: Any) -> None:
    window = open_page("ada", f"/jobs/{running['id']}")
    window.page.get_by_role("heading", level=1, name="pair").wait_for()
    window.open("/jobs/no-such-job")
    window.page.get_by_role("alert").wait_for()
    expect(window.page.get_by_role("heading", level=1)).to_have_count(0)
    expect(window.page.get_by_text("pair")).to_have_count(0)


def test_others_see_no_log_and_no_button(open_page: Open, running: Any) -> None:
    page = open_page("grace", f"/jobs/{running['id']}?tab=logs").page
    page.get_by_role("heading", level=1, name="pair").wait_for()
    page.get_by_role("tabpanel").get_by_text("Only ada and admins may read").wait_for()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.get_by_role("log")).to_have_count(0)


def test_failure_is_told_with_advice_in_both_languages(open_page: Open, lab: Lab) -> None:
    job = job_of(lab, "fails", seconds=2, workers=1, code=1)
    english = open_page("ada", f"/jobs/{job['id']}").page
    english.get_by_text("The program ended with exit code 1.").first.wait_for()
    english.get_by_text("What to do").wait_for()
    chinese = open_page("ada", f"/jobs/{job['id']}", language="zh").page
    chinese.get_by_text("怎么办").wait_for()
    chinese.get_by_text("服务器原文：The program ended with exit code 1.").wait_for()


def test_environment_and_sources_are_those_of_the_api(open_page: Open, running: Any) -> None:
    window = open_page("ada", f"/jobs/{running['id']}?tab=environment&worker=worker-1")
    row = window.page.get_by_role("row", name="MUSTER_RANK")
    expect(row).to_contain_text("1")
    window.open(f"/jobs/{running['id']}?tab=spec&spec=effective")
    expect(window.page.get_by_role("row", name="priority")).to_contain_text("default of Muster")


def test_specs_of_two_jobs_are_compared(open_page: Open, lab: Lab, running: Any) -> None:
    job_of(lab, "single", workers=1)
    page = open_page("ada", f"/jobs/{running['id']}?tab=spec&spec=diff").page
    page.get_by_label("Compare with job").fill("single")
    page.get_by_label("Compare with job").press("Enter")
    expect(page.get_by_role("row", name="roles.worker.replicas")).to_contain_text("2")
    expect(page.get_by_label("Line by line")).to_contain_text("+ name: pair")


def test_what_if_says_when_the_job_would_start(open_page: Open, lab: Lab) -> None:
    worker = {"replicas": 1, "command": "python train.py", "resources": {"cpu": 1, "gpu": 8}}
    spec = {"name": "waits", "cluster": "speech", "env": {"PRETEND_S": "5"}, "roles": {"worker": worker}}
    job = submit(lab.server, lab.token("ada"), spec)
    call(lab.server, "POST", f"/jobs/{job['id']}/hold", None, lab.token("ada"))
    page = open_page("ada", f"/jobs/{job['id']}").page
    page.get_by_role("button", name="Resume").wait_for()
    expect(page.get_by_role("link", name="Clone and edit")).to_have_attribute("href", f"/#/submit?from={job['id']}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Start sooner if").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("GPUs", exact=True).fill("1")
    dialog.get_by_text(f"muster explain {job['id']} --what-if gpus=1").wait_for()
    dialog.get_by_role("button", name="Ask").click()
    dialog.get_by_text("With these changes (gpus=1)").wait_for()


def test_a_held_job_says_who_holds_it_and_what_lets_it_run(open_page: Open, lab: Lab) -> None:
    held = submit(
        lab.server, lab.token("ada"), {"name": "on-hold", "command": "true", "cluster": "vision", "hold": True}
    )
    why = open_page("ada", f"/jobs/{held['id']}").page.get_by_role("region", name="Why it waits")
    expect(why).to_contain_text("on-hold is held by ada.")
    expect(why.locator("code")).to_have_text(f"muster resume {held['name']}")
    why = open_page("ada", f"/jobs/{held['id']}", language="zh").page.get_by_role("region", name="为什么在等待")
    expect(why).to_contain_text("被 ada 挂起")


def test_a_killed_job_says_so_in_chinese(open_page: Open, lab: Lab) -> None:
    killed = submit(
        lab.server, lab.token("ada"), {"name": "ended", "command": "true", "cluster": "vision", "hold": True}
    )
    call(lab.server, "POST", f"/jobs/{killed['id']}/kill", token=lab.token("ada"))
    page = open_page("ada", f"/jobs/{killed['id']}", language="zh").page
    expect(page.get_by_text("被 ada 停止")).to_be_visible()
