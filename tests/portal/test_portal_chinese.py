"""Nothing of the pages themselves is left in English when the reader has chosen Chinese."""

import pytest
from playwright.sync_api import expect

from tests.portal.conftest import Open, Read
from tests.portal.english import english_words
from tests.portal.pages import PAGES


@pytest.mark.parametrize("path", PAGES)
def test_chinese_page_has_no_english_words(read_page: Read, path: str) -> None:
    with read_page(path, language="zh") as window:
        window.page.get_by_role("heading", level=1).wait_for()
        window.await_loaded()
        assert english_words(window) == set()


def test_chinese_login_has_no_english_words(open_page: Open) -> None:
    window = open_page(None, language="zh")
    window.page.get_by_role("heading", level=1, name="登录").wait_for()
    assert english_words(window) == set()


def test_alerts_are_told_once_and_in_chinese(open_page: Open) -> None:
    page = open_page("root", "/alerts", language="zh").page
    unreachable = page.locator("[data-alert]").filter(has_text="gpu40")
    expect(unreachable).to_have_count(1)
    expect(unreachable).to_contain_text("节点 gpu40 无法连接")
    expect(unreachable).not_to_contain_text("cannot be reached")


def test_button_that_shows_a_password_has_a_chinese_name(open_page: Open) -> None:
    page = open_page(None, language="zh").page
    page.get_by_label("显示或隐藏输入内容").wait_for()
