"""Every page in dark colours: it has no barrier and no error."""

import pytest

from tests.portal.conftest import Read
from tests.portal.pages import PAGES


@pytest.mark.parametrize("path", PAGES)
def test_dark_page_has_no_barrier(read_page: Read, path: str) -> None:
    with read_page(path, dark=True) as window:
        window.page.get_by_role("heading", level=1).wait_for()
        assert window.barriers() == []
