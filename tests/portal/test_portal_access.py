"""Who gets into the portal, how, and what each kind of person is offered there."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.parts.pretend_cluster.seeding import PASSWORD, call
from tests.portal.conftest import Lab, Open

NEW_PASSWORD = "another horse battery staple"


def enter(page: Page, user: str, password: str) -> None:
    page.get_by_role("textbox", name="User").fill(user)
    page.get_by_role("textbox", name="Password, or a token").fill(password)
    page.get_by_role("button", name="Log in").click()


def is_at(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()


def test_login_by_password_leads_to_the_page_that_was_asked_for(open_page: Open) -> None:
    window = open_page(None, "/schedule")
    is_at(window.page, "Log in to Muster")
    assert window.barriers() == []
    enter(window.page, "ada", "not the password")
    expect(window.page.get_by_role("alert")).to_contain_text("The user or password is wrong.")
    enter(window.page, "ada", PASSWORD)
    is_at(window.page, "Schedule")


def test_login_leads_to_the_job_that_was_asked_for(open_page: Open, lab: Lab) -> None:
    newest = call(lab.server, "GET", "/jobs?owner=ada&limit=1")["items"][0]
    page = open_page(None, f"/jobs/{newest['id']}").page
    is_at(page, "Log in to Muster")
    enter(page, "ada", PASSWORD)
    is_at(page, newest["name"])


def new_link(lab: Lab, person: str) -> str:
    url = str(call(lab.server, "POST", "/login/link", {}, lab.token(person))["url"])
    return urlsplit(url).fragment


def test_link_logs_the_browser_in_once(open_page: Open, lab: Lab) -> None:
    fragment = new_link(lab, "ada")
    window = open_page(None, f"{fragment}&/cluster")
    is_at(window.page, "Cluster")
    assert "login=" not in window.page.url
    expect(window.page.get_by_role("button", name="Account of ada")).to_be_visible()
    second = open_page(None, fragment)
    is_at(second.page, "Log in to Muster")
    expect(second.page.get_by_role("alert")).to_contain_text(re.compile("link", re.IGNORECASE))


def test_link_of_somebody_else_does_not_replace_who_is_logged_in(open_page: Open, lab: Lab) -> None:
    window = open_page("grace", "/schedule")
    is_at(window.page, "Schedule")
    window.open(new_link(lab, "ada"))
    expect(window.page.get_by_text("you are logged in as grace here")).to_be_visible()
    expect(window.page.get_by_role("button", name="Account of grace")).to_be_visible()


def test_page_says_how_the_first_admin_gets_in(open_page: Open, lab: Lab) -> None:
    window = open_page(None)
    is_at(window.page, "Log in to Muster")
    command = "muster open"
    ways = {"password": True, "sso": None, "firstStart": {"command": command}}
    window.page.route("**/api/v1/login", lambda route: route.fulfill(json=ways))
    window.page.reload()
    expect(window.page.get_by_text("Nobody has a password on this server yet.")).to_be_visible()
    expect(window.page.get_by_text(command)).to_be_visible()


@pytest.mark.parametrize("person", ["root", "ada"])
def test_only_admins_are_offered_administration(open_page: Open, person: str) -> None:
    window = open_page(person, "/admin")
    is_at(window.page, "Admin")
    navigation = window.page.get_by_role("navigation")
    if person == "root":
        expect(window.page.get_by_role("tab", name="Users")).to_be_visible()
        expect(navigation.get_by_role("link", name="Admin")).to_be_visible()
    else:
        expect(window.page.get_by_text("This page is for admins.")).to_be_visible()
        expect(window.page.get_by_role("tab", name="Users")).to_have_count(0)
        expect(navigation.get_by_role("link", name="Admin")).to_have_count(0)


def test_password_is_changed_with_the_old_one(open_page: Open, lab: Lab) -> None:
    call(lab.server, "POST", "/users", {"name": "changer", "password": PASSWORD})
    window = open_page(None, "/profile")
    enter(window.page, "changer", PASSWORD)
    is_at(window.page, "Profile")
    form = window.page.get_by_role("region", name="Password", exact=True)
    for old, told in (("wrong", "alert"), (PASSWORD, "status")):
        form.get_by_role("textbox", name="Old password").fill(old)
        form.get_by_role("textbox", name="New password", exact=True).fill(NEW_PASSWORD)
        form.get_by_role("textbox", name="New password again").fill(NEW_PASSWORD)
        form.get_by_role("button", name="Change the password").click()
        expect(form.locator(f"[role={told}]")).to_be_visible()
    fresh = open_page(None, "/profile")
    enter(fresh.page, "changer", NEW_PASSWORD)
    is_at(fresh.page, "Profile")


def test_end_of_a_login_leads_to_the_login_page(open_page: Open, lab: Lab) -> None:
    call(lab.server, "POST", "/users", {"name": "leaver", "password": PASSWORD})
    window = open_page(None, "/profile")
    enter(window.page, "leaver", PASSWORD)
    is_at(window.page, "Profile")
    row = window.page.get_by_role("row", name="this login")
    row.get_by_role("button", name="End").click()
    window.page.get_by_role("dialog").get_by_role("button", name="End").click()
    is_at(window.page, "Log in to Muster")
