"""Every tab of a job's page, in both languages, at two widths and in the dark."""

from typing import Any

import pytest

from tests.portal.conftest import Lab, Read
from tests.portal.english import english_words
from tests.portal.jobs import job_of
from tests.portal.reading import PHONE, WIDE, Reader

TABS = ("workers", "logs", "metrics", "timeline", "outputs", "spec", "spec&spec=effective", "environment")


@pytest.fixture(scope="module")
def running(lab: Lab) -> Any:
    return job_of(lab, "tabbed")


@pytest.mark.parametrize("width", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tab", TABS)
def test_each_tab_is_whole(read_page: Read, running: Any, tab: str, language: str, width: int) -> None:
    with read_page(f"/jobs/{running['id']}?tab={tab}", language=language, width=width) as window:
        is_shown(window)
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width
        if language == "en":
            assert window.barriers() == []


@pytest.mark.parametrize("tab", TABS)
def test_dark_tab_has_no_barrier(read_page: Read, running: Any, tab: str) -> None:
    with read_page(f"/jobs/{running['id']}?tab={tab}", dark=True) as window:
        is_shown(window)
        assert window.barriers() == []


@pytest.mark.parametrize("tab", TABS)
def test_chinese_tab_has_no_english_words(read_page: Read, running: Any, tab: str) -> None:
    with read_page(f"/jobs/{running['id']}?tab={tab}", language="zh") as window:
        is_shown(window)
        assert english_words(window) == set()


def is_shown(window: Reader) -> None:
    window.page.get_by_role("heading", level=1, name="tabbed").wait_for()
    window.page.get_by_role("tabpanel").wait_for()
    window.await_loaded()
