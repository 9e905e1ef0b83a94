"""Which addresses a task may set."""

import pytest

from muster.domain.tracking import is_followable, tracking_url

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "url", ["http://h", "https://h:8080/a/b?c=d&e=%20#f", "http://[::1]:6006/", "https://h?x", "http://h/~u/(1)"]
)
def test_an_address_that_a_browser_opens(url: str) -> None:
    assert is_followable(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "h", "//h", "ftp://h", "javascript:alert(1)", "data:text/html,x", "http://", "http:///a", "HTTP:/h"),
        *("http://u:p@h", "http://h/a b", "http://h/\n", 'http://h/"', "http://h/<b>", "http://h/\x1b[1m", "http://hé"),
        *(" http://h", "http://h\\a", "http://" + "h" * 2000),
    ],
)
def test_anything_else_is_none(url: str) -> None:
    assert not is_followable(url)


def test_the_page_of_the_job_is_the_address_until_a_task_says_another() -> None:
    assert tracking_url("http://s", "j1") == "http://s/jobs/j1"
    assert tracking_url("http://s", "j1", "http://x") == "http://x"
