"""What people change on the pages of administration and of their own profile."""

import pytest
from playwright.sync_api import Dialog, expect

from tests.parts.pretend_cluster.seeding import call
from tests.parts.server import polls
from tests.portal.conftest import Lab, Open


def test_token_is_shown_once_works_and_is_revoked(open_page: Open, lab: Lab) -> None:
    page = open_page("ada", "/profile").page
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("ci <b>x</b>")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_text("Copy the secret now")).to_be_visible()
    secret = dialog.locator("code").inner_text()
    assert call(lab.server, "GET", "/whoami", None, secret)["user"] == "ada"
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_text(secret)).to_have_count(0)
    row = page.get_by_role("row", name="ci <b>x</b>")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    names = [token["name"] for token in call(lab.server, "GET", "/tokens", None, lab.token("ada"))["items"]]
    assert "ci <b>x</b>" not in names


def test_secret_is_kept_and_never_shown(open_page: Open) -> None:
    page = open_page("grace", "/profile").page
    page.get_by_role("button", name="Set a secret").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("wandb")
    dialog.get_by_role("textbox", name="Value").fill("s3cr3t-value")
    dialog.get_by_role("button", name="Set", exact=True).click()
    row = page.get_by_role("row", name="wandb")
    expect(row).to_contain_text("12 B")
    assert "s3cr3t-value" not in page.content()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_admin_adds_changes_and_removes_a_user(open_page: Open, lab: Lab) -> None:
    page = open_page("root", "/admin?tab=users").page
    page.get_by_role("button", name="Add a user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("noor")
    dialog.get_by_label("Groups").fill("vision guests")
    expect(dialog.get_by_text("muster users add noor --role user --group vision --group guests")).to_be_visible()
    dialog.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row", name="noor")
    expect(row).to_contain_text("guests, vision")
    row.get_by_role("button", name="Disable").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert "noor" not in [user["name"] for user in call(lab.server, "GET", "/users")["items"]]


def test_cluster_file_is_refused_with_its_problem(open_page: Open) -> None:
    page = open_page("root", "/admin?tab=files&file=speech.yaml").page
    text = page.get_by_role("textbox", name="Text of speech.yaml")
    expect(text).to_contain_text("guaranteed: {gpu: {RTX3090: 64}}")
    apply = page.get_by_role("button", name="Put into force")
    expect(apply).to_be_disabled()
    text.fill("name: speech\ncluster: nowhere\nguaranteed: {gpu: {RTX3090: 64}}\n")
    page.get_by_role("button", name="Check and compare").click()
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("Line 2")
    expect(problem).to_contain_text("nowhere")
    expect(page.locator(".cm-problem")).to_have_text("cluster: nowhere")
    problem.get_by_role("button", name="Line 2").click()
    expect(text).to_be_focused()
    expect(page.get_by_text("+cluster: nowhere")).to_be_visible()
    expect(apply).to_be_disabled()


def test_edited_cluster_file_is_not_left_without_a_question(open_page: Open) -> None:
    page = open_page("root", "/admin?tab=files&file=speech.yaml").page
    text = page.get_by_role("textbox", name="Text of speech.yaml")
    expect(text).to_contain_text("name: speech")
    text.press("Control+End")
    page.keyboard.type("# mine")
    expect(text).to_contain_text("# mine")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_role("navigation").get_by_role("link", name="Jobs", exact=True).click()
    expect(text).to_contain_text("# mine")
    assert asked == ["Your changes to this file are not in force. Leave and lose them?"]


def test_checked_cluster_file_is_put_into_force(open_page: Open, lab: Lab) -> None:
    page = open_page("root", "/admin?tab=files&file=speech.yaml").page
    text = page.get_by_role("textbox", name="Text of speech.yaml")
    expect(text).to_contain_text("name: speech")
    text.press("Control+End")
    page.keyboard.type("description: people who talk")
    page.get_by_role("button", name="Check and compare").click()
    expect(page.get_by_text("No problems found.")).to_be_visible()
    page.get_by_role("button", name="Put into force").click()
    expect(page.get_by_text("speech.yaml is in force.")).to_be_visible()
    assert "people who talk" in call(lab.server, "GET", "/cluster-files/speech.yaml")["text"]


def test_bell_counts_what_concerns_the_reader(open_page: Open, lab: Lab) -> None:
    page = open_page("root", "/schedule").page
    bell = page.get_by_role("button", name="alerts concern you")
    for _ in polls(30):  # alerts come and go while jobs begin and end
        total = call(lab.server, "GET", "/alerts?mine=true")["total"]
        if bell.get_attribute("aria-label") == f"{total} alerts concern you":
            break
    else:
        pytest.fail("the bell does not count what the API counts")
    bell.click()
    expect(page.get_by_role("dialog", name="Alerts").locator("[data-alert]").first).to_be_visible()
    page.get_by_role("link", name="Show all alerts").click()
    expect(page.get_by_role("tab", name="Alerts")).to_have_attribute("aria-selected", "true")


def test_audit_log_is_filtered_in_the_address(open_page: Open) -> None:
    page = open_page("root", "/admin?tab=audit&kind=user.create").page
    rows = page.get_by_role("group", name="Audit log").locator("tbody tr")
    expect(rows.first).to_contain_text("created a user")
    assert all("created a user" in text for text in rows.all_inner_texts())
    chinese = open_page("root", "/admin?tab=audit&kind=user.create", language="zh").page
    expect(chinese.get_by_role("group", name="审计日志").locator("tbody tr").first).to_contain_text("创建用户")
    page.get_by_role("textbox", name="Who").fill("nobody-at-all")
    expect(page.get_by_text("No act matches.")).to_be_visible()


def test_own_history_is_simulated(open_page: Open) -> None:
    page = open_page("root", "/simulate").page
    page.get_by_role("combobox", name="Cluster").click()
    page.get_by_role("option", name="lab").click()
    page.get_by_role("button", name="Add a variant").click()
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_role("heading", name="How long jobs waited for their start")).to_be_visible()
    waits = page.get_by_role("group", name="How long jobs waited for their start")
    expect(waits.get_by_role("columnheader", name="as it was")).to_be_visible()
    expect(waits.get_by_role("columnheader", name="fair")).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(waits).to_have_count(0)


def test_simulation_without_history_says_what_is_missing(open_page: Open) -> None:
    page = open_page("root", "/simulate").page
    page.get_by_role("combobox", name="Cluster").click()
    page.get_by_role("option", name="local").click()
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_role("alert")).to_contain_text("there is nothing to simulate")


def test_limits_of_somebody_else_are_shown_with_where_they_are_set(open_page: Open) -> None:
    page = open_page("root", "/admin?tab=limits").page
    page.get_by_role("combobox", name="Whose limits").click()
    page.get_by_role("option", name="ada").click()
    rows = page.get_by_role("group", name="Limits").locator("tbody tr")
    expect(rows.filter(has_text="jobs that have not ended")).to_contain_text("ada")
    expect(page.get_by_text("muster get quota --user ada")).to_be_visible()
    assert page.url.endswith("tab=limits&user=ada")
    rows.filter(has_text="tasks on a node · lab").get_by_role("link", name="lab.yaml").click()
    expect(page.get_by_role("textbox", name="Text of lab.yaml")).to_contain_text("backend: pretend")
