"""The schedule: what ran, and what is going to be where."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.parts.pretend_cluster.seeding import call, submit
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.parts.server import MusterServer, polls
from tests.portal.reading import missing_parts, reader

ONE_NODE = {"lab": "name: lab\nbackend: pretend\nsize: 1\n"}


@pytest.fixture
def short_of_gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    """A job has all GPUs for half an hour at most, and another waits for them."""
    if why := missing_parts():
        pytest.skip(why)
    with running_pretend_server(tmp_path_factory.mktemp("short") / "home", files=ONE_NODE) as server:
        whole = {"cluster": "lab", "command": "python train.py", "resources": {"gpu": 8}, "env": {"PRETEND_S": "3600"}}
        submit(server, server.token, {**whole, "name": "has-all", "timeLimit": "30m"})
        submit(server, server.token, {**whole, "name": "comes-next", "timeLimit": "10m"})
        for _ in polls(30):
            schedule = call(server, "GET", "/schedule")
            if schedule["expected"] or schedule["reserved"]:
                break
        yield server


def test_what_comes_is_drawn_after_now_as_far_as_is_asked(browser: Browser, short_of_gpus: MusterServer) -> None:
    with reader(browser, short_of_gpus.url, short_of_gpus.token) as window:
        page = window.open("/schedule")
        coming = page.get_by_role("figure", name="Schedule").get_by_role(
            "button", name=re.compile("comes-next of root")
        )
        expect(coming).to_be_visible()
        now = page.get_by_title("now", exact=True).bounding_box()
        begins = coming.bounding_box()
        assert now is not None
        assert begins is not None
        assert begins["x"] >= now["x"]
        assert window.barriers() == []
        page.get_by_text("until now").click()
        expect(page).to_have_url(re.compile("ahead=none"))
        expect(coming).to_have_count(0)
        page.get_by_text("+6 hours").click()
        coming.click()
        expect(page.get_by_role("heading", level=1, name="comes-next")).to_be_visible()
        assert window.errors == []
