"""Times of the Kubernetes API."""

import pytest

from muster.kubernetes.times import instant, precise_timestamp, timestamp

pytestmark = pytest.mark.fast


def test_times_are_written_and_read() -> None:
    assert timestamp(1_700_000_000.9) == "2023-11-14T22:13:20Z"
    assert precise_timestamp(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"
    assert instant("2023-11-14T22:13:20Z") == 1_700_000_000
    assert instant("2023-11-14T22:13:20.250000Z") == 1_700_000_000.25


@pytest.mark.parametrize("given", [None, "", "soon", 17, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"])
def test_what_names_no_time_is_none(given: object) -> None:
    assert instant(given) is None
