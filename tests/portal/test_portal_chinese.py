"""Nothing of the pages themselves is left in English when the reader has chosen Chinese."""

import pytest

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
