"""Points in time and lengths of time as Slurm writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from muster.backends.slurm.answers.times import read_length_s, read_time

pytestmark = pytest.mark.fast
AT = datetime(2026, 11, 18, 2, 31, 41, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", [str(int(AT)), "2026-11-18T02:31:41+00:00", "2026-11-18T02:31:41Z", " 1794969101 "])
def test_time_that_means_the_same_everywhere(text: str) -> None:
    assert read_time(text, timezone(timedelta(hours=8))) == AT


def test_local_time_is_one_of_the_given_zone() -> None:
    assert read_time("2026-11-18T10:31:41", timezone(timedelta(hours=8))) == AT


def test_local_time_without_a_zone_is_one_of_this_machine() -> None:
    local = datetime.fromtimestamp(AT).strftime("%Y-%m-%dT%H:%M:%S")

    assert read_time(local) == AT


@pytest.mark.parametrize("text", ["N/A", "Unknown", "NONE", "None", "(null)", "", "0", "now"])
def test_no_time(text: str) -> None:
    assert read_time(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784),
        ("365-00:00:00", 31536000),
        ("01:00:00", 3600),
        ("10:30", 630),
        ("00:00", 0),
        ("60", 3600),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("Partition_Limit", None),
        ("NONE", None),
        ("", None),
    ],
)
def test_length(text: str, seconds: float | None) -> None:
    assert read_length_s(text) == seconds
