"""Experiments, sweeps and models in the portal: found, compared, drawn and stopped."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.parts.pretend_cluster.experiments import reported_sweep
from tests.parts.pretend_cluster.seeding import call
from tests.portal.conftest import Lab, Open
from tests.portal.english import english_words
from tests.portal.reading import PHONE

MEMBERS = 6


@pytest.fixture(scope="module")
def sweep(lab: Lab) -> Iterator[str]:
    """Its members run as long as the tests, and member 3 is the best."""
    found = reported_sweep(lab.server, "lr-search", MEMBERS)
    yield found
    call(lab.server, "POST", f"/sweeps/{found}/stop")


def test_runs_are_found_by_what_they_reported_and_compared(open_page: Open, sweep: str) -> None:
    page = open_page("root", f"/experiments?sweep={sweep}").page
    expect(page.get_by_role("status").filter(has_text=f"{MEMBERS} jobs")).to_be_visible()
    page.get_by_placeholder("acc>=0.9").fill("loss<0.3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="3 jobs")).to_be_visible()
    for name in ("lr-search-2", "lr-search-3"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", level=1, name="Compare jobs").wait_for()
    row = page.get_by_role("row", name="param lr")
    expect(row).to_have_attribute("data-differs", "true")
    expect(page.get_by_role("figure").filter(has_text="loss").first).to_be_visible()
    expect(page.get_by_text("muster history compare")).to_be_visible()


def test_condition_that_is_none_is_refused_at_its_field(open_page: Open) -> None:
    page = open_page("root", "/experiments").page
    page.get_by_placeholder("lr<0.1").fill("lr~~0.1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("'lr~~0.1' is not a condition").first).to_be_visible()


def test_best_runs_come_first_when_a_metric_is_chosen(open_page: Open, sweep: str) -> None:
    page = open_page("root", f"/experiments?sweep={sweep}&use=lowest").page
    page.get_by_role("button", name="loss").click()
    page.get_by_role("columnheader", name="loss").and_(page.locator("[aria-sort=descending]")).wait_for()
    page.get_by_role("button", name="loss").click()
    expect(page.locator("tbody tr[data-row]").first).to_contain_text("lr-search-3")


def test_brush_on_an_axis_chooses_runs(open_page: Open, sweep: str) -> None:
    page = open_page("root", f"/experiments?sweep={sweep}&show=parallel").page
    expect(page.get_by_text("muster history plot --metric loss --last")).to_be_visible()
    grip = page.locator("[data-axis=lr]")
    box = grip.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    expect(page.get_by_role("status").filter(has_text=f"of {MEMBERS} chosen")).to_be_visible()
    page.get_by_role("button", name="Choose all").click()
    expect(page.get_by_role("status").filter(has_text="Drag along an axis")).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sweep_shows_its_best_member_and_plots(open_page: Open, sweep: str, language: str) -> None:
    window = open_page("root", f"/sweeps/{sweep}", language=language)
    page = window.page
    page.get_by_role("heading", level=1, name="lr-search").wait_for()
    expect(page.get_by_role("status").filter(has_text="loss 0.1")).to_contain_text("lr-search-3")
    expect(page.get_by_role("figure").first).to_be_visible()
    expect(page.locator("tbody tr[data-row]").first).to_contain_text("lr-search-3")
    if language == "en":
        assert window.barriers() == []
    else:
        assert english_words(window) == set()


@pytest.mark.parametrize("path", ["/experiments?sweep={}", "/experiments?sweep={}&show=parallel", "/sweeps/{}"])
def test_pages_fit_on_a_phone_in_the_dark(open_page: Open, sweep: str, path: str) -> None:
    window = open_page("root", path.format(sweep), width=PHONE, dark=True)
    window.page.get_by_text("lr-search").first.wait_for(state="attached")
    assert window.page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert window.barriers() == []


def test_job_shows_what_its_program_reported(open_page: Open, sweep: str, lab: Lab) -> None:
    member = call(lab.server, "GET", f"/sweeps/{sweep}/members")["items"][0]["job"]
    page = open_page("root", f"/jobs/{member}?tab=metrics").page
    expect(page.get_by_role("region", name="Reported metrics")).to_contain_text("loss")
    page.get_by_role("link", name="member 1").click()
    page.get_by_role("heading", level=1, name="lr-search").wait_for()


def test_sweep_is_stopped(open_page: Open, lab: Lab) -> None:
    stopped = reported_sweep(lab.server, "to-stop", 2)
    page = open_page("root", f"/sweeps/{stopped}").page
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("muster sweep stop to-stop")
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("stopped by root")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


def test_notices_are_chosen_and_taken_back(open_page: Open) -> None:
    page = open_page("grace", "/profile").page
    notices = page.get_by_role("region", name="Notices")
    notices.get_by_role("checkbox", name="a job has failed").check()
    notices.get_by_role("textbox", name="Quiet hours").fill("22:00-07:00")
    expect(notices.get_by_text("muster notices set --on failed")).to_be_visible()
    notices.get_by_role("button", name="Save").click()
    expect(notices.get_by_role("button", name="Save")).to_be_disabled()
    page.reload()
    expect(notices.get_by_role("textbox", name="Quiet hours")).to_have_value("22:00-07:00")
    notices.get_by_role("button", name="Tell me nothing").click()
    expect(notices.get_by_role("textbox", name="Quiet hours")).to_have_value("")
