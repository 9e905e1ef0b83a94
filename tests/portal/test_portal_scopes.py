"""A login by a token is offered only what the token allows, and not all that its user may do."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.portal.conftest import Lab, Open

SPEC = {"name": "scoped", "cluster": "lab", "command": "python train.py", "env": {"PRETEND_S": "3600"}}


@pytest.fixture(scope="module")
def job(lab: Lab) -> Any:
    return submit(lab.server, lab.token("ada"), SPEC)


def login_with(lab: Lab, person: str, scope: str) -> str:
    """Somebody to open pages as: the person, by a token of this scope."""
    made = call(lab.server, "POST", "/tokens", {"name": scope, "scope": scope}, lab.token(person))
    name = f"{person} by a token to {scope}"
    lab.tokens[name] = made["secret"]
    return name


def is_offered(found: Locator, is_there: bool) -> None:
    expect(found).to_have_count(1 if is_there else 0)


@pytest.mark.parametrize("scope", ["read", "submit", "admin"])
def test_owner_is_offered_what_their_token_allows(open_page: Open, lab: Lab, job: Any, scope: str) -> None:
    may_work, may_do_all = scope != "read", scope == "admin"
    login = login_with(lab, "ada", scope)
    page = open_page(login, f"/jobs/{job['id']}").page
    expect(page.get_by_role("heading", level=1, name="scoped")).to_be_visible()
    expect(page.get_by_role("tab", name="Logs")).to_be_visible()
    for act in ("Stop", "Hold"):
        is_offered(page.get_by_role("button", name=act, exact=True), may_work)
    is_offered(page.get_by_role("navigation").get_by_role("link", name="Submit"), may_work)
    page = open_page(login, "/submit").page
    expect(page.get_by_role("heading", level=1, name="Submit a job")).to_be_visible()
    is_offered(page.get_by_role("button", name="Submit", exact=True), may_work)
    is_offered(page.get_by_text("This login is by a token that may only read."), not may_work)
    window = open_page(login, "/profile")
    expect(window.page.get_by_role("heading", name="Tokens", exact=True)).to_be_visible()
    expect(window.page.get_by_role("heading", name="Secrets", exact=True)).to_be_visible()
    for write in ("New token", "Set a secret", "Change the password", "Save"):
        is_offered(window.page.get_by_role("button", name=write, exact=True), may_do_all)
    is_offered(window.page.get_by_text("This login is by a token that allows"), not may_do_all)
    assert window.barriers() == []
    page = open_page(login, "/simulate").page
    expect(page.get_by_role("heading", level=1, name="Simulate")).to_be_visible()
    is_offered(page.get_by_role("region", name="Compare with what was"), may_do_all)


@pytest.mark.parametrize("scope", ["read", "submit", "admin"])
def test_admin_by_a_narrow_token_is_offered_nothing_for_admins(open_page: Open, lab: Lab, job: Any, scope: str) -> None:
    is_admin = scope == "admin"
    login = login_with(lab, "root", scope)
    page = open_page(login, "/admin").page
    expect(page.get_by_role("heading", level=1, name="Admin")).to_be_visible()
    is_offered(page.get_by_role("tab", name="Users"), is_admin)
    is_offered(page.get_by_text("This page is for admins."), not is_admin)
    is_offered(page.get_by_role("navigation").get_by_role("link", name="Admin"), is_admin)
    page = open_page(login, f"/jobs/{job['id']}").page
    expect(page.get_by_role("heading", level=1, name="scoped")).to_be_visible()
    is_offered(page.get_by_role("button", name="Stop", exact=True), is_admin)
