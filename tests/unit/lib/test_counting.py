"""Amounts with their nouns."""

import pytest

from muster.lib.counting import counted

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "file", "0 files"),
        (1, "job", "1 job"),
        (1.0, "minute", "1 minute"),
        (1.5, "minute", "1.5 minutes"),
        (1234567, "event", "1234567 events"),
    ],
)
def test_one_is_singular(count: float, noun: str, text: str) -> None:
    assert counted(count, noun) == text
