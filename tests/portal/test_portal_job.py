"""The page of one job: what it says, its logs, its acts, and what it shows to whom."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.jobs import job_of


@pytest.fixture(scope="module")
def running(lab: Lab) -> Any:
    return job_of(lab, "pair")


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
