"""The page in a real browser: log in, watch, read, stop."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.browsing import MISSING, Tab, browser_tab, chromium
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def person(muster_server: MusterServer) -> str:
    name = f"page-{secrets.token_hex(4)}"
    status, answer = muster_server.call("POST", "/api/v1/users", {"name": name, "role": "admin", "password": PASSWORD})
    assert status == 201, answer
    return name


@pytest.fixture
def tab(muster_server: MusterServer, person: str) -> Iterator[Tab]:
    """A browser in which that person has logged in."""
    with browser_tab(muster_server.url) as tab:
        tab.log_in(person, PASSWORD)
        tab.wait_for("!document.querySelector('#overview').hidden")
        yield tab
        assert tab.errors == []


def state_of(job: str) -> str:
    return f"document.querySelector('tr[data-key=\"{job}\"] .state')?.textContent"


def test_a_job_is_watched_read_and_stopped(tab: Tab, muster_server: MusterServer, tmp_path: Path) -> None:
    tab.wait_for("document.querySelector('#live').textContent === 'live'")
    gate = tmp_path / "gate"
    command = f"echo first words; while [ ! -e {gate} ]; do sleep 0.1; done; echo later words; sleep 300"
    job = muster_server.submit({"name": f"watched-{secrets.token_hex(4)}", "command": command, "replicas": 2})
    tab.wait_for(f"{state_of(job['id'])} === 'Running'")
    _show(tab, "list")

    tab.click(f'tr[data-key="{job["id"]}"] a')
    tab.wait_for("document.querySelector('#log').textContent.includes('worker-1 | first words')")
    assert "later words" not in tab.run("document.querySelector('#log').textContent")
    gate.touch()
    tab.wait_for("document.querySelector('#log').textContent.includes('worker-0 | later words')")
    assert tab.run("[...document.querySelectorAll('#tasks .state')].map(e => e.textContent)") == ["Running", "Running"]
    _show(tab, "job")

    tab.click("#kill")
    tab.wait_for("document.querySelector('#job-state').textContent === 'Cancelled'")
    tab.wait_for("[...document.querySelectorAll('#tasks .state')].every(e => e.textContent === 'Stopped')")
    assert tab.run("document.querySelector('#kill').hidden")
    assert muster_server.wait(job["id"])["state"] == "Cancelled"


def test_what_people_write_is_shown_as_text(tab: Tab, muster_server: MusterServer) -> None:
    """A name cannot hold markup; a label, a reason and a log can."""
    markup = "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'>"
    command = f"cat <<'E'\n{markup}\nE\nexit 3"
    job = muster_server.submit({"name": f"markup-{secrets.token_hex(4)}", "command": command, "description": markup})
    muster_server.wait(job["id"])
    tab.wait_for(f"{state_of(job['id'])} === 'Failed'")
    tab.click(f'tr[data-key="{job["id"]}"] a')
    tab.wait_for("document.querySelector('#log').textContent.includes('<script>window.owned')")
    _show(tab, "failed")
    assert tab.run("window.owned === undefined && !document.querySelector('main script, main img')")


def test_a_name_with_markup_is_refused_and_the_filter_shows_it_as_text(tab: Tab, muster_server: MusterServer) -> None:
    status, told = muster_server.call("POST", "/api/v1/jobs", {"spec": {"name": "<script>x</script>", "command": "a"}})
    assert (status, told["problems"][0]["path"]) == (422, "name")
    tab.type("#filter", "<script>window.owned = 1</script>")
    tab.wait_for("document.querySelector('#jobs-note').textContent.includes('No job matches')")
    assert tab.run("window.owned === undefined")


def test_a_wrong_password_is_said_and_logging_out_ends_the_session(tab: Tab, person: str) -> None:
    tab.click("#logout")
    tab.wait_for("document.querySelector('#login').hidden === false")
    assert tab.run("fetch('/api/v1/whoami').then(answer => answer.status)") == 401
    tab.run("document.querySelector('#login').reset()")
    tab.type("#login [name=user]", person)
    tab.type("#login [name=password]", "wrong")
    tab.click("#login button")
    tab.wait_for("document.querySelector('#problem').textContent === 'The user or password is wrong.'")


def test_admins_read_that_tasks_are_not_isolated_once_there_are_other_users(own_server: MusterServer) -> None:
    (own_server.home / "clusters.d" / "local.yaml").write_text("backend: local\nisolation: none\n")
    for name, role in (("chief", "admin"), ("plain", "user")):
        body = {"name": name, "role": role, "password": PASSWORD}
        status, answer = own_server.call("POST", "/api/v1/users", body)
        assert status == 201, answer
    for _ in polls(60):
        if own_server.call("GET", "/api/v1/clusters")[1]["items"][0]["isolation"]["mode"] == "none":
            break
    with browser_tab(own_server.url) as tab:
        tab.log_in("chief", PASSWORD)
        tab.wait_for("!document.querySelector('#unsafe').hidden")
        assert "not isolated on local" in tab.run("document.querySelector('#unsafe').textContent")
        tab.click("#logout")
        tab.wait_for("document.querySelector('#login').hidden === false")
        assert tab.run("document.querySelector('#unsafe').hidden")
        tab.run("document.querySelector('#login').reset()")
        tab.log_in("plain", PASSWORD)
        tab.wait_for("!document.querySelector('#overview').hidden")
        tab.wait_for("document.querySelector('#live').textContent === 'live'")
        assert tab.run("document.querySelector('#unsafe').hidden")
        assert tab.errors == []


def _show(tab: Tab, name: str) -> None:
    """Pictures for whoever wants to look: MUSTER_PAGE_PICTURES names a folder."""
    if folder := os.environ.get("MUSTER_PAGE_PICTURES"):
        tab.screenshot(Path(folder) / f"page-{name}.png")
