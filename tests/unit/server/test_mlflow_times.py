"""When runs begin and end, as MLflow's clients say it."""

import pytest

from muster.server.compatibility.mlflow.routes.runs import seconds

NOW = 1_800_000_000.0
YEAR_2000, YEAR_9999 = 946_684_800_000, 253_370_764_800_000


@pytest.mark.parametrize(
    ("millis", "expected"),
    [
        (None, NOW),
        (0, NOW),
        (1, NOW),
        (YEAR_2000 - 1, NOW),
        (YEAR_2000, 946_684_800.0),
        (1_700_000_000_500, 1_700_000_000.5),
        (1_800_000_060_000, NOW + 60),
        (1_800_086_400_001, NOW),
        (YEAR_9999, NOW),
    ],
)
def test_a_time_of_a_wrong_clock_is_taken_as_now(millis: int | None, expected: float) -> None:
    assert seconds(millis, NOW) == expected
