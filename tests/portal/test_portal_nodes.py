"""The page of a node: what runs there, and what an admin does with it."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.parts.pretend_cluster.seeding import call
from tests.portal.conftest import Lab, Open
from tests.portal.jobs import job_of


@pytest.fixture(scope="module")
def node(lab: Lab) -> str:
    """A node that a task of ada's job runs on."""
    job = job_of(lab, "on-a-node", workers=1)
    lab.server.wait_for_state(job["id"], "Running")
    (task,) = call(lab.server, "GET", f"/jobs/{job['id']}/tasks")["items"]
    return str(task["node"])


def confirmed(page: Page, act: str, command: str) -> None:
    page.get_by_role("button", name=act, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(command)
    dialog.get_by_role("button", name=act, exact=True).click()
    expect(dialog).to_have_count(0)


def test_node_shows_its_tasks_with_what_they_use(open_page: Open, node: str) -> None:
    page = open_page("ada", f"/nodes/{node}?cluster=lab").page
    row = page.get_by_role("row", name="on-a-node")
    expect(row).to_contain_text("ada")
    expect(row).to_contain_text("40.0 GiB")
    expect(page.get_by_role("columnheader", name="Processes")).to_be_visible()
    expect(page.get_by_role("button", name="Cordon")).to_have_count(0)
    row.get_by_role("link", name="on-a-node").click()
    expect(page.get_by_role("heading", level=1, name="on-a-node")).to_be_visible()


def test_admin_cordons_a_node_and_lets_it_have_tasks_again(open_page: Open, lab: Lab, node: str) -> None:
    page = open_page("root", f"/nodes/{node}?cluster=lab").page
    confirmed(page, "Cordon", f"muster node cordon {node} --cluster lab")
    expect(page.get_by_text("Cordoned", exact=True)).to_be_visible()
    assert state_of(lab, node) == "Cordoned"
    confirmed(page, "Uncordon", f"muster node uncordon {node} --cluster lab")
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()
    assert state_of(lab, node) == "Ready"


def state_of(lab: Lab, node: str) -> Any:
    return call(lab.server, "GET", f"/nodes/{node}?cluster=lab")["state"]
