"""The page that leads an admin from nothing to a job on a second machine."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.parts.ports import free_port
from tests.parts.server import running_server
from tests.portal.reading import reader


@pytest.mark.parametrize("language", ["en", "zh"])
def test_machine_that_cannot_be_reached_says_why_and_is_removed(
    browser: Browser, tmp_path: Path, language: str
) -> None:
    words = {
        "en": ("SSH address", "Name", "Add the machine", "Unreachable", "Remove"),
        "zh": ("SSH 地址", "名称", "添加机器", "无法连接", "移除"),
    }
    address, name, add, unreachable, remove = words[language]
    with (
        running_server(tmp_path / "home") as server,
        reader(browser, server.url, server.token, language=language) as one,
    ):
        page = one.open("/welcome")
        page.get_by_label(name, exact=True).fill("gpu1")
        page.get_by_label(address).fill(f"nobody@127.0.0.1:{free_port()}")
        page.get_by_role("button", name=add).click()
        machine = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="gpu1"))
        expect(machine).to_contain_text(unreachable)
        expect(machine).to_contain_text("127.0.0.1")
        machine.get_by_role("button", name=remove).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("muster node remove gpu1 --cluster lab").wait_for()
        dialog.get_by_role("button", name=remove).click()
        expect(machine).to_have_count(0)
        assert one.violations() == []
        assert one.errors == []
