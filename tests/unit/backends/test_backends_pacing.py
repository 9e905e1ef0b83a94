"""How much is on its way over a line, by a line that is only arithmetic: its clock is ours."""

from collections import deque

import pytest

from muster.backends.agents.flow_control import BEHIND_S, FIRST_BYTES, LARGEST_BYTES, SMALLEST_BYTES, Pace, patiently
from muster.domain.errors import BackendError, Unreachable

pytestmark = pytest.mark.fast


def sent(
    pace: Pace, total: int, bytes_per_s: float, round_trip_s: float = 0.01, now: float = 0.0
) -> tuple[float, float]:
    """Send so many bytes over such a line, from `now` on. When it was done, and how long the last piece was under
    way."""
    pieces: deque[tuple[int, float, float]] = deque()
    left, flying, line_free_at, took_s = total, 0, now, 0.0
    while left or pieces:
        while left and flying + pace.piece <= pace.window:
            size = min(left, pace.piece)
            line_free_at = max(line_free_at, now) + size / bytes_per_s
            pieces.append((size, now, line_free_at + round_trip_s))
            left, flying = left - size, flying + size
        size, asked_at, now = pieces.popleft()
        flying, took_s = flying - size, now - asked_at
        pace.answered(size, asked_at, now)
    return now, took_s


@pytest.mark.parametrize("bytes_per_s", [1e5, 1e6, 3e6])
@pytest.mark.parametrize("round_trip_s", [0.001, 0.3])
def test_nobody_waits_long_behind_a_transfer_over_a_narrow_line(bytes_per_s: float, round_trip_s: float) -> None:
    pace = Pace()
    _, took_s = sent(pace, int(20 * bytes_per_s), bytes_per_s, round_trip_s)
    alone_s = SMALLEST_BYTES / bytes_per_s + round_trip_s
    assert took_s <= alone_s + 2 * BEHIND_S


@pytest.mark.parametrize("bytes_per_s", [1e5, 1e6, 3e6])
@pytest.mark.parametrize("round_trip_s", [0.001, 0.3])
def test_a_narrow_line_is_never_idle_for_long(bytes_per_s: float, round_trip_s: float) -> None:
    done, _ = sent(Pace(), int(20 * bytes_per_s), bytes_per_s, round_trip_s)
    assert done < 20 * 1.4


def test_a_good_line_soon_carries_as_much_as_may_be() -> None:
    pace = Pace()
    sent(pace, 8 * LARGEST_BYTES, 1e9)
    assert pace.window == LARGEST_BYTES


def test_a_node_that_answers_late_whatever_is_asked_is_not_sent_less_and_less() -> None:
    """Its CPU is busy, say: that an answer takes a second has nothing to do with what is on its way."""
    pace = Pace()
    now, _ = sent(pace, LARGEST_BYTES, 1e9)
    sent(pace, 32 * LARGEST_BYTES, 1e9, round_trip_s=1.0, now=now)
    assert pace.window == LARGEST_BYTES


def test_all_that_was_lost_with_one_line_counts_once() -> None:
    pace = Pace()
    for asked_at in (1.0, 1.1, 1.2):
        pace.lost(asked_at, 2.0)
    assert pace.window == FIRST_BYTES // 2


def test_when_two_lines_break_without_an_answer_as_little_as_may_be_is_sent() -> None:
    pace = Pace()
    sent(pace, 8 * LARGEST_BYTES, 1e9)
    pace.lost(100.0, 101.0)
    assert pace.window == LARGEST_BYTES // 2
    pace.lost(102.0, 103.0)
    assert pace.window == SMALLEST_BYTES


class Breaking:
    """Fails so many times, with this error."""

    def __init__(self, times: int, error: BackendError | None = None) -> None:
        self.left = times
        self.error = error or Unreachable("gone")
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.asked <= self.left:
            raise self.error
        return "heard"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_may_be_done_twice_is_asked_again_over_the_next_line_but_not_for_ever() -> None:
    line = Breaking(2)
    assert await patiently(line.ask) == "heard"
    for line in (Breaking(100), Breaking(1, BackendError("gone", reason="disk-full"))):
        with pytest.raises(BackendError):
            await patiently(line.ask)
        assert line.asked < 10
    assert line.asked == 1, "only a lost line is worth another try"
