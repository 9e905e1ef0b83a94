"""Something may be done so often, and whoever is too fast is told how long to wait."""

import pytest

from muster.lib.pace import Pace

pytestmark = pytest.mark.fast


def test_each_may_do_it_so_often_and_waits_for_the_rest_of_the_window() -> None:
    pace = Pace(2, 60.0)
    assert [pace.wait_s("amy", now) for now in (100.0, 110.0, 120.0)] == [0.0, 0.0, 40.0]
    assert pace.wait_s("bob", 120.0) == 0.0
    assert pace.wait_s("amy", 160.5) == 0.0
    assert pace.wait_s("amy", 161.0) == pytest.approx(9.0)


def test_who_has_done_nothing_lately_is_forgotten() -> None:
    pace = Pace(2, 60.0)
    for number in range(100):
        pace.wait_s(number, 100.0)
    pace.wait_s("amy", 161.0)
    assert len(pace) == 1
