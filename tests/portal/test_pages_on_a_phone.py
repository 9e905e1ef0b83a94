"""Every page in both languages at the width of a phone: it has its title, no barrier, nothing off screen, no error."""

import pytest

from tests.portal.conftest import Read
from tests.portal.pages import LANGUAGES, PAGES, is_whole
from tests.portal.reading import PHONE


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole_on_a_phone(read_page: Read, path: str, language: str) -> None:
    is_whole(read_page, path, language, PHONE)
