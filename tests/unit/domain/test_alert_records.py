"""The life of an alert: pending, firing, resolved; told once, or not at all."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.alerting.alert_conditions import Condition
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, Silence, Step, advanced
from muster.domain.alerting.alert_rules import AlertAction, AlertRule, Check
from muster.domain.alerting.alerts import Subject, SubjectType

pytestmark = pytest.mark.fast
NODE = Subject(SubjectType.NODE, "n1", "lab")
GPU = Subject(SubjectType.GPU, "n1/0", "lab")
DOWN = AlertRule("Down", Check.NODE_UNREACHABLE, for_s=60, keep_s=30, inhibits=("Hot",))
HOT = AlertRule("Hot", Check.GPU_TEMPERATURE, threshold=90, for_s=0, keep_s=30)
IDS = map(str, count())


class Life:
    def __init__(self, *rules: AlertRule) -> None:
        self.rules = rules or (DOWN, HOT)
        self.records: dict[str, AlertRecord] = {}
        self.silences: list[Silence] = []
        self.told: list[tuple[float, str, str]] = []

    def at(self, now: float, *found: Condition, unknown: bool = False) -> Step:
        records = list(self.records.values())
        step = advanced(records, found, self.rules, self.silences, now, lambda: next(IDS), lambda *_: unknown)
        for gone in step.dropped:
            del self.records[gone]
        for record in step.changed:
            self.records[record.id] = record
        self.records = {key: one for key, one in self.records.items() if one.phase is not AlertPhase.RESOLVED}
        self.told += [(now, record.rule, "fires") for record in step.fired]
        self.told += [(now, record.rule, "is over") for record in step.resolved]
        return step


def down(since: float | None = None) -> Condition:
    return Condition("Down", NODE, "node n1 cannot be reached", since=since)


def hot(value: float = 95) -> Condition:
    return Condition("Hot", GPU, f"GPU 0 has {value} °C", value=value)


def test_it_fires_after_it_has_lasted_and_resolves_after_it_has_been_over() -> None:
    life = Life()
    for now in (0, 30, 59):
        life.at(now, down())
    assert not life.told
    life.at(60, down())
    life.at(75, down())
    life.at(80)
    life.at(109)
    assert life.told == [(60, "Down", "fires")]
    life.at(110)
    assert life.told == [(60, "Down", "fires"), (110, "Down", "is over")]
    assert not life.records


def test_what_comes_and_goes_within_the_damping_is_told_once() -> None:
    life = Life()
    life.at(0, hot())
    for now in range(10, 300, 20):
        life.at(now)
        life.at(now + 10, hot())
    assert life.told == [(0, "Hot", "fires")]


def test_a_beginning_that_is_known_counts() -> None:
    life = Life()
    life.at(100, down(since=30))
    assert life.told == [(100, "Down", "fires")]
    assert next(iter(life.records.values())).since == 30


def test_what_was_only_pending_is_dropped_without_a_word() -> None:
    life = Life()
    life.at(0, down())
    step = life.at(10)
    assert (len(step.dropped), life.told, life.records) == (1, [], {})


def test_an_alert_stays_as_it_is_while_nothing_is_known() -> None:
    life = Life()
    life.at(0, hot())
    for now in (10, 1000, 5000):
        life.at(now, unknown=True)
    assert life.told == [(0, "Hot", "fires")]


def test_an_inhibited_alert_is_told_when_its_inhibitor_is_gone() -> None:
    life = Life()
    life.at(0, down(since=-100), hot())
    assert life.told == [(0, "Down", "fires")]
    assert [one.inhibited_by for one in life.records.values() if one.rule == "Hot"] == ["Down"]
    for now in (10, 40):
        life.at(now, hot())
    assert life.told == [(0, "Down", "fires"), (40, "Hot", "fires"), (40, "Down", "is over")]


def test_an_inhibitor_of_another_node_inhibits_nothing() -> None:
    life = Life()
    life.at(0, replace(down(since=-100), subject=replace(NODE, name="n2")), hot())
    assert sorted(rule for _, rule, _ in life.told) == ["Down", "Hot"]


@pytest.mark.parametrize(
    ("rule", "subject", "is_silent"),
    [("Hot", "*", True), ("*", "n1/0", True), ("*", "lab/n1*", True), ("Down", "*", False), ("*", "n2*", False)],
)
def test_a_silence_matches_by_rule_and_subject_and_its_end_is_told(rule: str, subject: str, is_silent: bool) -> None:
    life = Life()
    life.silences = [Silence("s1", rule, subject, "", "amy", 0, 100)]
    life.at(0, hot())
    assert life.told == ([] if is_silent else [(0, "Hot", "fires")])
    life.at(100, hot())
    assert life.told == [(100 if is_silent else 0, "Hot", "fires")]


def test_a_silenced_alert_that_is_over_is_not_told_and_nothing_was_done() -> None:
    life = Life(replace(HOT, actions=(AlertAction.NOTIFY, AlertAction.CORDON)))
    life.silences = [Silence("s1", "*", "*", "", "amy", 0, 1000)]
    life.at(0, hot())
    assert not next(iter(life.records.values())).todo
    life.at(10)
    step = life.at(50)
    assert (life.told, [record.phase for record in step.changed]) == ([], [AlertPhase.RESOLVED])


@pytest.mark.parametrize(("silence_ends", "is_told"), [(1000, False), (50, True), (20, True)])
def test_the_end_of_an_alert_that_was_told_is_not_told_while_it_is_silenced(silence_ends: float, is_told: bool) -> None:
    life = Life()
    life.at(0, hot())
    life.silences = [Silence("s1", "*", "*", "", "amy", 5, silence_ends)]
    life.at(10, hot())
    life.at(20)
    (ended,) = life.at(50).changed
    assert (ended.phase, ended.is_told, ended.silenced_by) == (AlertPhase.RESOLVED, True, "" if is_told else "s1")
    life.at(2000)
    assert life.told == [(0, "Hot", "fires"), *([(50, "Hot", "is over")] if is_told else [])]


def test_what_is_to_be_done_is_known_when_it_fires_and_telling_is_no_part_of_it() -> None:
    life = Life(replace(HOT, actions=(AlertAction.NOTIFY, AlertAction.CORDON)))
    (record,) = life.at(0, hot()).fired
    assert record.todo == (AlertAction.CORDON,)


def test_the_alerts_of_a_rule_that_was_removed_are_over() -> None:
    life = Life()
    life.at(0, hot())
    life.rules = (DOWN,)
    life.at(1)
    assert life.told == [(0, "Hot", "fires"), (1, "Hot", "is over")]


def test_figures_that_move_change_nothing_that_would_be_written() -> None:
    life = Life()
    life.at(0, hot(95))
    assert life.at(10, hot(99)) == Step()


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans(), st.booleans()), max_size=60))
def test_whatever_happens_beginnings_and_ends_are_told_in_turn(moves: list[tuple[int, bool, bool]]) -> None:
    life, now = Life(), 0.0
    for pause, is_hot, is_known in moves:
        now += pause
        life.at(now, *([hot()] if is_hot and is_known else []), unknown=not is_known)
        assert len(life.records) <= 1
    words = [what for _, _, what in life.told]
    assert words == (["fires", "is over"] * len(words))[: len(words)]


def test_whoever_was_told_that_it_fires_is_told_of_its_end_also_by_another_rule() -> None:
    life = Life(replace(HOT, actions=(AlertAction.CORDON, AlertAction.MAIL_OWNER)))
    (fired,) = life.at(0, hot()).fired
    assert (fired.tells, fired.todo) == ((AlertAction.MAIL_OWNER,), (AlertAction.CORDON,))
    life.rules = ()
    (resolved,) = life.at(10).resolved
    assert resolved.tells == (AlertAction.MAIL_OWNER,)
