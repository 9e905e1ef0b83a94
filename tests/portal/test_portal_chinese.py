"""Nothing of the pages themselves is left in English when the reader has chosen Chinese."""

import re

import pytest
from playwright.sync_api import expect

from tests.portal.conftest import Read
from tests.portal.test_portal_pages import PAGES

CHROME = "h1, h2, h3, label, button, th, legend, caption, dt, nav a, [role=tab], [role=columnheader], [aria-label]"
"""What the page says by itself; names of jobs, people and nodes stand elsewhere."""
_TEXTS = """
(selector) =>
  [...document.querySelectorAll(selector)]
    .filter((each) => !each.closest("tbody, [data-alert], code"))
    .flatMap((each) => [
      [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(" "),
      each.getAttribute("aria-label") ?? "",
    ])
"""
ENGLISH = re.compile(
    r"\b(all|and|clear|close|cluster|clusters|created|filter|file|from|jobs?|mine|name|nodes?|none|of|open|owner|queue|"
    r"reason|remove|running|search|state|submit|the|to|user|users|waiting|with)\b",
    re.IGNORECASE,
)
KEPT = re.compile(r"[\w]+(?:[-._][\w]+)+|\S*=\S*", re.ASCII)
"""Names of jobs and files, and examples, are the same in all languages."""


@pytest.mark.parametrize("path", PAGES)
def test_chinese_page_has_no_english_words(read_page: Read, path: str) -> None:
    with read_page(path, language="zh") as window:
        page = window.page
        page.get_by_role("heading", level=1).wait_for()
        expect(page.locator(".mantine-Loader-root")).to_have_count(0)
        texts = {text for text in page.evaluate(_TEXTS, CHROME) if ENGLISH.search(KEPT.sub("", text))}
        assert texts == set()
