"""Values that are found once, for a short time."""

import pytest

from muster.lib.one_time import OneTime

pytestmark = pytest.mark.fast


class SetClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_taken_once_and_only_in_time() -> None:
    clock = SetClock()
    kept: OneTime[str] = OneTime(clock, 10.0)
    first, second = kept.put("a", "me"), kept.put("b", "me")
    assert (kept.look(first), kept.take(first), kept.take(first)) == ("a", "a", None)
    clock.now += 10.0
    assert kept.take(second) is None
    assert kept.take("unknown") is None


def test_somebody_with_many_values_pushes_out_only_their_own() -> None:
    kept: OneTime[int] = OneTime(SetClock(), 10.0, most=10, most_of_one=3)
    mine = kept.put(0, "me")
    theirs = [kept.put(number, "flood") for number in range(20)]
    assert kept.look(mine) == 0
    assert [kept.look(secret) is not None for secret in theirs[-4:]] == [False, True, True, True]
    for number in range(20):
        kept.put(number, f"holder {number}")
    assert len(kept) == 10
