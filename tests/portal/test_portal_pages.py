"""Every page in both languages: it has its title, no barrier, nothing off screen, no error."""

import pytest
from playwright.sync_api import expect

from tests.portal.conftest import Open, Read
from tests.portal.pages import LANGUAGES, PAGES, is_whole
from tests.portal.reading import WIDE


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole(read_page: Read, path: str, language: str) -> None:
    is_whole(read_page, path, language, WIDE)


def test_colours_are_switched_without_breaking_the_policy(open_page: Open) -> None:
    page = open_page("root", "/").page
    for name, scheme in (("Dark colours", "dark"), ("Light colours", "light")):
        page.get_by_role("button", name=name).click()
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
