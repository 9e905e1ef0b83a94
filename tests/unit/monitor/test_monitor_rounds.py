"""What follows from rounds of checks: one notice on failure, one on recovery, none in between."""

from collections.abc import Iterator, Mapping
from itertools import count, pairwise
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.monitor.outcomes import Outcome, Reason, ReasonCode, Step
from muster.monitor.rounds import MOST_PENDING, Damping, Round, Ways, concluded, told
from muster.monitor.state import MonitorState
from muster.monitor.stories import FailureStory, RecoveryStory, Story

pytestmark = pytest.mark.fast

WELL = Outcome(None, 0.1)
REFUSED = Outcome(Reason(ReasonCode.REFUSED, Step.CONNECT), 0.1)
FULL = Outcome(Reason(ReasonCode.STORAGE_FULL, Step.WRITE, {"words": "the disk is full"}), 0.1)
SLOW = Outcome(Reason(ReasonCode.CANARY_SLOW, Step.CANARY, {"seconds": "300", "state": "Queued"}), 300.0)
WAYS = Ways({"mail": frozenset({"failure", "recovery", "digest"}), "chat": frozenset({"failure"})})


class Played:
    """Rounds of a minute each."""

    def __init__(self, damping: Damping) -> None:
        self.damping = damping
        self.state = MonitorState()
        self.now = 1000.0
        self._ids: Iterator[int] = count(1)

    def round(
        self,
        outcomes: Mapping[str, Outcome],
        elapsed_s: float = 60.0,
        jump_s: float = 0.0,
        canaries: Mapping[str, Outcome] = MappingProxyType({}),
    ) -> list[Story]:
        """Returns what is told because of this round."""
        self.now += elapsed_s + jump_s
        before = {one.story.id for one in self.state.pending}
        found = Round(self.now, elapsed_s, {title: f"http://{title}" for title in outcomes}, outcomes, canaries)
        self.state = concluded(self.state, found, self.damping, WAYS, lambda: str(next(self._ids)))
        return [one.story for one in self.state.pending if one.story.id not in before]


def kinds(stories: list[Story]) -> list[str]:
    return [story.kind for story in stories]


def test_one_story_on_failure_and_one_on_recovery_with_how_long_it_lasted() -> None:
    played = Played(Damping(1, 1))
    assert played.round({"a": WELL}) == []
    (failed,) = played.round({"a": REFUSED})
    assert [played.round({"a": REFUSED}) for _ in range(100)] == [[]] * 100
    (recovered,) = played.round({"a": WELL})
    assert isinstance(failed, FailureStory)
    assert isinstance(recovered, RecoveryStory)
    assert failed.items[0].reason == REFUSED.reason
    assert recovered.items[0].lasted_s == 101 * 60.0
    assert recovered.items[0].since == failed.items[0].since


def test_flapping_below_the_damping_tells_nothing() -> None:
    played = Played(Damping(3, 3))
    assert [played.round({"a": one}) for one in [REFUSED, REFUSED, WELL] * 20] == [[]] * 60


def test_flapping_while_down_tells_nothing_and_is_one_outage() -> None:
    played = Played(Damping(2, 2))
    told_now = [kinds(played.round({"a": one})) for one in [REFUSED, REFUSED, WELL, REFUSED, WELL, REFUSED, WELL, WELL]]
    assert told_now == [[], ["failure"], [], [], [], [], [], ["recovery"]]
    assert played.state.receivers["a"].outages == 1
    story = played.state.pending[-1].story
    assert isinstance(story, RecoveryStory)
    assert story.items[0].lasted_s == 6 * 60.0  # from the first bad check to the first of the good ones that decided


def test_a_receiver_that_comes_and_goes_all_night_is_told_a_few_times_and_its_end_once() -> None:
    played = Played(Damping(2, 2))
    told_at_night = [
        kind for _ in range(100) for one in [REFUSED] * 3 + [WELL] * 5 for kind in kinds(played.round({"a": one}))
    ]
    assert told_at_night == ["failure", "recovery"] * 2 + ["failure"]
    told_later = [kind for _ in range(20) for kind in kinds(played.round({"a": WELL}))]
    assert told_later == ["recovery"]


def test_outages_that_are_hours_apart_do_not_count_as_flapping() -> None:
    played = Played(Damping(2, 2))
    for _ in range(5):
        told_now = [kind for one in [REFUSED] * 3 + [WELL] * 2 for kind in kinds(played.round({"a": one}))]
        assert told_now == ["failure", "recovery"]
        played.round({"a": WELL}, elapsed_s=3700.0)


def test_several_failing_receivers_make_one_story() -> None:
    played = Played(Damping(1, 1))
    (story,) = played.round({"a": REFUSED, "b": FULL, "c": WELL})
    assert isinstance(story, FailureStory)
    assert ([item.receiver for item in story.items], story.watched) == (["a", "b"], 3)


def test_a_recovery_names_who_is_still_down() -> None:
    played = Played(Damping(1, 1))
    played.round({"a": REFUSED, "b": REFUSED})
    (story,) = played.round({"a": WELL, "b": REFUSED})
    assert isinstance(story, RecoveryStory)
    assert story.still_down == ("b",)


def test_the_reason_is_the_last_one() -> None:
    played = Played(Damping(2, 1))
    played.round({"a": REFUSED})
    (failed,) = played.round({"a": FULL})
    assert isinstance(failed, FailureStory)
    assert failed.items[0].reason == FULL.reason


def test_a_failed_canary_counts_once_until_the_next_one_has_ended() -> None:
    played = Played(Damping(3, 3))
    assert played.round({"a": WELL}, canaries={"a": SLOW}) == []
    assert [played.round({"a": WELL}) for _ in range(10)] == [[]] * 10
    one = played.state.receivers["a"]
    assert (one.failures, one.successes, one.checks, one.failed_checks) == (1, 0, 1, 1)
    assert played.round({"a": WELL}, canaries={"a": SLOW}) == []
    (failed,) = played.round({"a": WELL}, canaries={"a": SLOW})
    assert isinstance(failed, FailureStory)
    assert (failed.items[0].reason, failed.items[0].checks) == (SLOW.reason, 3)


def test_a_canary_that_succeeds_ends_what_a_failed_one_began() -> None:
    played = Played(Damping(2, 2))
    for canary in (SLOW, WELL, SLOW, WELL):
        assert played.round({"a": WELL}, canaries={"a": canary}) == []
    assert played.state.receivers["a"].successes == 1


def test_a_receiver_whose_canary_failed_is_up_again_after_a_good_canary_and_enough_good_rounds() -> None:
    played = Played(Damping(2, 3))
    told_now = [kinds(played.round({"a": WELL}, canaries={"a": SLOW})) for _ in range(2)]
    told_now += [kinds(played.round({"a": WELL})) for _ in range(5)]
    told_now += [kinds(played.round({"a": WELL}, canaries={"a": WELL}))]
    told_now += [kinds(played.round({"a": WELL})) for _ in range(2)]
    assert told_now == [[], ["failure"], [], [], [], [], [], [], [], ["recovery"]]
    story = played.state.pending[-1].story
    assert isinstance(story, RecoveryStory)
    assert story.items[0].lasted_s == 7 * 60.0


def test_a_canary_that_fails_while_the_receiver_is_away_says_nothing() -> None:
    played = Played(Damping(2, 2))
    told_now = [kinds(played.round({"a": REFUSED}, canaries={"a": REFUSED})) for _ in range(2)]
    told_now += [kinds(played.round({"a": WELL})) for _ in range(2)]
    assert told_now == [[], ["failure"], [], ["recovery"]]
    story = played.state.pending[-1].story
    assert isinstance(story, RecoveryStory)
    assert (story.items[0].reason, story.items[0].lasted_s) == (REFUSED.reason, 120.0)


def test_a_canary_that_succeeds_just_before_the_receiver_goes_away_is_not_forgotten() -> None:
    played = Played(Damping(1, 1))
    played.round({"a": WELL}, canaries={"a": SLOW})
    played.round({"a": REFUSED}, canaries={"a": WELL})
    assert kinds(played.round({"a": WELL})) == ["recovery"]


@pytest.mark.parametrize("jump_s", [-1e8, -3600.0, 3600.0, 1e8])
def test_a_clock_that_jumps_changes_neither_stories_nor_durations(jump_s: float) -> None:
    played = Played(Damping(1, 1))
    played.round({"a": REFUSED})
    assert played.round({"a": REFUSED}, jump_s=jump_s) == []
    (recovered,) = played.round({"a": WELL})
    assert isinstance(recovered, RecoveryStory)
    assert recovered.items[0].lasted_s == 120.0


def test_a_receiver_that_is_no_longer_watched_is_forgotten() -> None:
    played = Played(Damping(1, 1))
    played.round({"a": REFUSED, "b": WELL})
    assert played.round({"b": WELL}) == []
    assert list(played.state.receivers) == ["b"]


def test_each_way_is_told_what_it_is_about_and_once() -> None:
    played = Played(Damping(1, 1))
    played.round({"a": REFUSED})
    played.round({"a": WELL})
    assert [one.ways for one in played.state.pending] == [("mail", "chat"), ("mail",)]
    state = told(played.state, played.state.pending[0].story.id, "mail")
    assert [one.ways for one in state.pending] == [("chat",), ("mail",)]
    assert [one.ways for one in told(state, state.pending[0].story.id, "chat").pending] == [("mail",)]


def test_what_nobody_takes_does_not_grow_without_end() -> None:
    played = Played(Damping(1, 1))
    for number in range(2 * MOST_PENDING):
        played.round({"a": REFUSED if number % 2 else WELL}, elapsed_s=4000.0)
    assert len(played.state.pending) == MOST_PENDING


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_failures_and_recoveries_always_alternate(checks: list[bool], failures: int, successes: int) -> None:
    played = Played(Damping(failures, successes))
    stories = [story for is_well in checks for story in played.round({"a": WELL if is_well else REFUSED})]
    assert all(first.kind != second.kind for first, second in pairwise(stories))
    assert not stories or stories[0].kind == "failure"
    state = played.state.receivers.get("a")
    if state is not None:
        assert state.is_down == (bool(stories) and stories[-1].kind == "failure")
        assert (state.checks, state.failed_checks) == (len(checks), checks.count(False))
        assert state.down_s <= 60.0 * len(checks)
