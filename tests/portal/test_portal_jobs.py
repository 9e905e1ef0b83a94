"""The list of jobs, the queue and home: what they show, what can be done there, and that many rows are no burden."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open
from tests.portal.reading import PATIENCE_MS, PHONE

MANY = 10_000
AT_ONCE = 250
ROWS = "tr[data-row]"
SCROLLER = "[data-testid=rows]"


def job(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "cluster": "vision", "command": "python train.py", "hold": True, **more}


def row(page: Page, job_id: str) -> str:
    return f"tr[data-row='{job_id}']"


def test_filter_and_order_are_in_the_address_and_can_be_taken_back(open_page: Open) -> None:
    page = open_page("root", "/jobs").page
    page.locator(ROWS).first.wait_for()
    page.get_by_text("Waiting", exact=True).click()
    expect(page).to_have_url(re.compile(r"state=.*Queued.*Held"))
    page.get_by_role("button", name="Owner").click()
    expect(page).to_have_url(re.compile("sort=owner"))
    expect(page.get_by_role("columnheader", name="Owner")).to_have_attribute("aria-sort", "ascending")
    page.reload()
    expect(page.get_by_role("button", name=re.compile("Remove the filter State: Queued"))).to_be_visible()
    page.get_by_role("button", name="Clear all").click()
    expect(page).not_to_have_url(re.compile("state="))


def test_my_jobs_have_my_name_in_the_address_and_old_links_get_it(open_page: Open) -> None:
    """A shared link shows everybody the same list."""
    page = open_page("ada", "/jobs").page
    page.get_by_text("Mine", exact=True).click()
    expect(page).to_have_url(re.compile("owner=ada"))
    page.goto(page.url.partition("#")[0] + "#/jobs?owner=me&since=7d")
    expect(page).to_have_url(re.compile("owner=ada&since=7d"))
    expect(page.get_by_role("checkbox", name="Mine")).to_be_checked()
    shared = open_page("root", page.url.partition("#")[2]).page
    expect(shared.get_by_role("button", name="Remove the filter Owner: ada")).to_be_visible()
    expect(shared.get_by_role("checkbox", name="Mine")).not_to_be_checked()


def test_list_says_how_many_jobs_match(open_page: Open, lab: Lab) -> None:
    found = call(lab.server, "GET", "/jobs?owner=ada&members=none&limit=1&total=true")["total"]
    page = open_page("root", "/jobs?owner=ada").page
    expect(page.get_by_text(f"{found} jobs")).to_be_visible()


def test_no_match_offers_to_clear_the_filter(open_page: Open) -> None:
    page = open_page("root", "/jobs?text=no-such-thing-anywhere").page
    page.get_by_role("button", name="Clear the filter").click()
    page.locator(ROWS).first.wait_for()


def test_several_jobs_are_stopped_after_a_dialog_with_the_command(open_page: Open, lab: Lab) -> None:
    ids = [submit(lab.server, lab.token("ada"), job(f"bulk-{number}"))["id"] for number in range(2)]
    page = open_page("ada", "/jobs?text=bulk-").page
    for each in ids:
        page.locator(f"{row(page, each)} input[type=checkbox]").check()
    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    for each in ids:
        expect(dialog).to_contain_text(each)
    expect(dialog).to_contain_text("muster kill")
    dialog.get_by_role("button", name="Stop", exact=True).click()
    for each in ids:
        expect(page.locator(row(page, each))).to_contain_text("Cancelled")


def test_acts_are_not_offered_on_jobs_of_others(open_page: Open, lab: Lab) -> None:
    found = submit(lab.server, lab.token("ada"), job("not-yours"))
    page = open_page("grace", "/jobs?text=not-yours").page
    page.locator(f"{row(page, found['id'])} input[type=checkbox]").check()
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


def test_rows_are_reached_by_keyboard(open_page: Open) -> None:
    page = open_page("root", "/jobs").page
    page.locator(ROWS).first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(ROWS).nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("x")
    expect(second).to_have_attribute("data-selected", "true")
    page.keyboard.press("k")
    first = page.locator(ROWS).first
    expect(first).to_be_focused()
    name = first.get_by_role("link").inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_the_search_is_left_to_the_list(open_page: Open, key: str) -> None:
    page = open_page("root", "/jobs").page
    page.locator(ROWS).first.wait_for()
    page.keyboard.press("/")
    expect(page.get_by_label("Name, owner or id")).to_be_focused()
    page.keyboard.press(key)
    page.keyboard.press("j")
    expect(page.locator(ROWS).first).to_be_focused()


def test_the_command_bar_opens_the_only_job_that_it_finds(open_page: Open, lab: Lab) -> None:
    submit(lab.server, lab.token("ada"), job("only-one-of-its-name"))
    page = open_page("ada", "/cluster").page
    page.get_by_role("heading", level=1).wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()
    page.keyboard.type("only-one-of-its")
    expect(page.get_by_role("button", name="only-one-of-its-name")).to_have_attribute("data-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="only-one-of-its-name")).to_be_visible()


def test_members_of_sweeps_are_listed_on_demand(open_page: Open, lab: Lab) -> None:
    spec = job("swept", hold=False, params={"lr": 1}, sweep={"grid": {"lr": [1, 2]}})
    call(lab.server, "POST", "/sweeps", {"spec": spec}, token=lab.token("ada"))
    page = open_page("ada", "/jobs?text=swept").page
    page.get_by_text("2 jobs are members of sweeps and are not listed.").wait_for()
    page.get_by_role("button", name="List them").click()
    expect(page).to_have_url(re.compile("members=true"))
    expect(page.locator(ROWS)).to_have_count(2)


def test_chosen_columns_are_kept(open_page: Open) -> None:
    page = open_page("root", "/jobs").page
    page.get_by_role("button", name=re.compile("^Columns")).click()
    page.get_by_label("GPU type").check()
    expect(page.get_by_role("columnheader", name="GPU type")).to_be_visible()
    page.reload()
    expect(page.get_by_role("columnheader", name="GPU type")).to_be_visible()


def test_reasons_are_told_in_chinese(open_page: Open, lab: Lab) -> None:
    found = submit(lab.server, lab.token("ada"), job("chinese"))
    call(lab.server, "POST", f"/jobs/{found['id']}/kill", token=lab.token("ada"))
    page = open_page("ada", "/jobs?text=chinese", language="zh").page
    expect(page.locator(row(page, found["id"]))).to_contain_text("被 ada 停止")


def test_jobs_are_cards_at_the_width_of_a_phone(open_page: Open, lab: Lab) -> None:
    found = submit(lab.server, lab.token("ada"), job("on-the-phone"))
    page = open_page("ada", "/jobs?text=on-the-phone", width=PHONE).page
    card = page.locator(f"li[data-row='{found['id']}']")
    expect(card).to_contain_text("Held")
    expect(card.get_by_role("link", name="on-the-phone")).to_be_visible()


def test_owner_changes_the_priority_of_a_waiting_job_from_the_queue(open_page: Open, lab: Lab) -> None:
    unreachable = {"where": {"nodes": ["gpu40"]}}
    found = submit(lab.server, lab.token("ada"), job("waits-in-line", hold=False, **unreachable))
    page = open_page("ada", "/queue?owner=me").page
    page.get_by_role("button", name="Change waits-in-line").click()
    page.get_by_role("menuitem", name="Change the priority").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"muster bump {found['id']} --priority urgent")
    dialog.get_by_role("button", name="Change the priority").click()
    expect(page.locator(row(page, found["id"]))).to_contain_text("urgent")


def test_home_shows_my_jobs_and_what_ended_since_i_looked(open_page: Open, lab: Lab) -> None:
    waits = submit(lab.server, lab.token("linus"), job("waits-at-home"))
    ends = submit(lab.server, lab.token("linus"), job("ends-at-home"))
    page = open_page("linus", "/").page
    waiting = page.get_by_role("region", name="My waiting jobs")
    expect(waiting.get_by_role("link", name=waits["name"])).to_be_visible()
    call(lab.server, "POST", f"/jobs/{ends['id']}/kill", token=lab.token("linus"))
    ended = page.get_by_role("region", name="Ended since you last looked")
    expect(ended.get_by_role("link", name=ends["name"])).to_be_visible()
    page.reload()
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("link", name="Home", exact=True).click()
    expect(ended.get_by_role("link", name=ends["name"])).to_be_visible()
    ended.get_by_role("button", name="I have seen them").click()
    expect(ended.get_by_role("link", name=ends["name"])).to_have_count(0)


@pytest.fixture(scope="module")
def many_jobs(lab: Lab) -> str:
    """The token of the admin, whose jobs these are."""
    now = datetime.now(UTC)
    for first in range(0, MANY, AT_ONCE):
        jobs = [_ended(number, now - timedelta(minutes=number + 10)) for number in range(first, first + AT_ONCE)]
        call(lab.server, "POST", "/jobs:import", {"source": "many", "jobs": jobs})
    return lab.server.token


def _ended(number: int, at: datetime) -> dict[str, object]:
    times = {
        "createdAt": at.isoformat(),
        "startedAt": at.isoformat(),
        "endedAt": (at + timedelta(minutes=5)).isoformat(),
    }
    spec = {"name": f"old-{number}", "command": "true", "cluster": "vision"}
    return {"id": str(number), "spec": spec, "state": "Succeeded", **times}


def test_ten_thousand_jobs_are_a_table_of_which_only_the_rows_in_view_are_drawn(
    open_page: Open, lab: Lab, many_jobs: str
) -> None:
    page = open_page("root", "/jobs?owner=me").page
    table = page.get_by_role("table", name="Jobs")
    table.wait_for()
    _scroll_to(page, "old-2000")
    assert page.locator(ROWS).count() < 100
    count = call(lab.server, "GET", "/jobs?owner=me&members=none&limit=1&total=true", token=many_jobs)["total"]
    expect(table).to_have_attribute("aria-rowcount", str(count + 1))
    submit(lab.server, many_jobs, job("came-later"))
    page.get_by_text("1 new job").click()
    expect(page.get_by_role("link", name="came-later")).to_be_visible()


def _scroll_to(page: Page, name: str) -> None:
    """As a reader does: on and on, while more is loaded."""
    page.wait_for_function(
        """([scroller, name]) => {
          document.querySelector(scroller).scrollTop += 2000;
          return [...document.querySelectorAll("tr[data-row] a")].some((link) => link.textContent === name)
              || document.querySelector(scroller).scrollTop > 2100 * 32;
        }""",
        arg=[SCROLLER, name],
        timeout=2 * PATIENCE_MS,
    )
