"""Alerts, silences, notices on their way, and what users want to be told."""

from dataclasses import replace
from datetime import time

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, Silence
from muster.domain.alerting.alert_rules import AlertAction
from muster.domain.alerting.alerts import Severity, Subject, SubjectType
from muster.domain.alerting.notices import NoticeSettings, NoticeTopic, QueuedNotice, QuietHours
from muster.domain.errors import NotFound
from muster.domain.events import Event
from muster.ports.store import AlertingChange, Change, Store, TriedNotice

pytestmark = pytest.mark.anyio
RECORD = AlertRecord(
    "a1",
    "NodeNotReady",
    Severity.CRITICAL,
    Subject(SubjectType.NODE, "gpu2", "lab"),
    AlertPhase.PENDING,
    "a fan is “loud”",
    5.5,
    value=2.25,
    todo=(AlertAction.CORDON,),
    done=("tag: done",),
)
SILENCE = Silence("s1", "Node*", "lab/gpu2", "new “disk”", "amy", 1.0, 99.0)
NOTICE = QueuedNotice("n1", "mail", "u-1", "failure", 1.0, "title", "text\nmore", not_before=1.0, data={"job": "j"})
SETTINGS = NoticeSettings(
    "u-1",
    frozenset({NoticeTopic.FAILED, NoticeTopic.WAITING}),
    "amy@example.org",
    "slack",
    "my-slack",
    60.0,
    QuietHours(time(22), time(7, 30)),
    "Asia/Shanghai",
    "zh",
    3.5,
)


async def write(store: Store, change: AlertingChange) -> None:
    await store.apply(Change(alerting=change))


async def test_an_alert_comes_back_as_it_was_until_it_is_dropped(store: Store) -> None:
    await write(store, AlertingChange(alerts=[RECORD]))
    assert await store.open_alerts() == [RECORD]
    fired = replace(RECORD, phase=AlertPhase.FIRING, fired_at=9.0, is_told=True)
    await write(store, AlertingChange(alerts=[fired]))
    assert await store.open_alerts() == [fired]
    for _ in range(2):
        await write(store, AlertingChange(dropped_alerts=["a1"]))
    assert await store.open_alerts() == []


async def test_the_history_is_newest_first_and_of_one_owner_if_asked(store: Store) -> None:
    over = replace(RECORD, phase=AlertPhase.RESOLVED, fired_at=10.0, resolved_at=20.0)
    later = replace(RECORD, id="a2", rule="JobHung", owner="amy", phase=AlertPhase.FIRING, fired_at=15.0)
    await write(store, AlertingChange(alerts=[over, later, replace(RECORD, id="a3")]))
    assert [one.id for one in await store.open_alerts()] == ["a2", "a3"]

    async def ids(owner: str | None = None, since: float = 0, until: float = 99, rule: str | None = None) -> list[str]:
        found = await store.alert_history(owner=owner, since=since, until=until, rule=rule, limit=10)
        return [one.id for one in found]

    assert await ids() == ["a2", "a1"]
    assert await ids(owner="amy") == ["a2"]
    assert await ids(since=12) == ["a2"]
    assert await ids(until=15) == ["a1"]
    assert await ids(rule="NodeNotReady") == ["a1"]


async def test_silences_stay_until_somebody_removes_them(store: Store) -> None:
    await write(store, AlertingChange(silence=SILENCE))
    assert await store.silences() == [SILENCE]
    await write(store, AlertingChange(removed_silence="s1"))
    assert await store.silences() == []
    with pytest.raises(NotFound):
        await write(store, AlertingChange(removed_silence="s1"))


async def test_a_notice_is_queued_once_whatever_happened_to_it(store: Store) -> None:
    await write(store, AlertingChange(notices=[NOTICE, NOTICE]))
    await write(store, AlertingChange(notices=[replace(NOTICE, title="other")]))
    assert await store.due_notices(5.0, limit=10) == [NOTICE]
    sent = replace(NOTICE, sent_at=6.0)
    await write(store, AlertingChange(tried_notices=[TriedNotice(sent, None)]))
    await write(store, AlertingChange(notices=[NOTICE]))
    assert await store.due_notices(9.0, limit=10) == []
    assert await store.notices_of("u-1", limit=10) == [sent]


async def test_the_oldest_notice_of_each_lane_comes_first_and_holds_back_the_others(store: Store) -> None:
    second, other = replace(NOTICE, id="n2", at=2.0), replace(NOTICE, id="n3", way="slack", at=3.0)
    urgent = replace(NOTICE, id="n4", at=4.0, is_urgent=True)
    await write(store, AlertingChange(notices=[second, NOTICE, other, urgent]))
    assert {one.id for one in await store.due_notices(9.0, limit=10)} == {"n1", "n3", "n4"}
    await write(store, AlertingChange(tried_notices=[TriedNotice(replace(NOTICE, tries=1, error="no"), 50.0)]))
    assert {one.id for one in await store.due_notices(9.0, limit=10)} == {"n3", "n4"}
    assert [one.tries for one in await store.due_notices(50.0, limit=10) if one.id == "n1"] == [1]
    assert await store.next_notice_at() == 1.0


async def test_a_long_lane_hides_no_other_and_gives_several_at_once_in_their_order(store: Store) -> None:
    many = [replace(NOTICE, id=f"m{number}") for number in range(30)]
    other = replace(NOTICE, id="other", way="slack", at=3.0, not_before=3.0)
    await write(store, AlertingChange(notices=[*many, replace(NOTICE, id="later", at=2.0), other]))
    assert [one.id for one in await store.due_notices(9.0, limit=2)] == ["m0", "other"]
    found = [one.id for one in await store.due_notices(9.0, limit=100, each=31)]
    assert found[:2] == ["m0", "other"]
    assert sorted(found) == sorted([*(one.id for one in many), "later", "other"])
    assert found[-1] == "later"


async def test_a_notice_that_is_tried_again_later_holds_back_those_after_it(store: Store) -> None:
    after = replace(NOTICE, id="n2", at=2.0)
    await write(store, AlertingChange(notices=[NOTICE, after]))
    await write(store, AlertingChange(tried_notices=[TriedNotice(replace(NOTICE, tries=1), 50.0)]))
    assert await store.due_notices(9.0, limit=10, each=5) == []
    assert [one.id for one in await store.due_notices(50.0, limit=10, each=5)] == ["n1", "n2"]


async def test_a_clock_that_is_set_changes_neither_the_order_of_notices_nor_how_long_they_wait(store: Store) -> None:
    held = replace(NOTICE, id="held", way="slack", at=1.0, not_before=500.0)
    waits = replace(NOTICE, id="n2", at=1001.0, not_before=1001.0)
    await write(store, AlertingChange(notices=[replace(NOTICE, at=1000.0, not_before=1000.0), waits, held]))
    await write(store, AlertingChange(tried_notices=[TriedNotice(replace(NOTICE, at=1000.0, tries=1), 1010.0)]))
    await write(store, AlertingChange(clock_set_by_s=-900.0))
    await write(store, AlertingChange(notices=[replace(NOTICE, id="n3", at=102.0, not_before=102.0)]))
    assert await store.due_notices(109.0, limit=10, each=5) == []
    assert [one.id for one in await store.due_notices(110.0, limit=10, each=5)] == ["n1", "n2", "n3"]
    assert [one.id for one in await store.due_notices(500.0, limit=10)] == ["n1", "held"]


async def test_a_notice_that_waits_for_its_time_is_not_due_before(store: Store) -> None:
    await write(store, AlertingChange(notices=[replace(NOTICE, not_before=10.0)]))
    assert await store.due_notices(9.9, limit=10) == []
    assert await store.next_notice_at() == 10.0
    assert len(await store.due_notices(10.0, limit=10)) == 1


async def test_settings_come_back_as_they_were_and_go_with_the_user(store: Store) -> None:
    await store.apply(Change(new_user=User("amy", UserRole.USER, 0.0, id="u-1")))
    for language in ("en", "zh"):
        await write(store, AlertingChange(settings=replace(SETTINGS, language=language), notices=[NOTICE]))
    assert await store.notice_settings() == [SETTINGS]
    assert await store.notice_settings_of("u-1") == SETTINGS
    assert await store.notice_settings_of("u-2") is None
    await store.apply(Change(removed_user="amy"))
    assert await store.notice_settings() == []
    assert await store.notices_of("u-1", limit=10) == []


async def test_the_last_event_that_was_told_is_remembered(store: Store) -> None:
    assert await store.told_until() is None
    for number in (7, 9):
        await write(store, AlertingChange(told_until=number))
    assert await store.told_until() == 9


async def test_what_is_long_over_is_forgotten_and_nothing_else(store: Store) -> None:
    over = replace(RECORD, id="a2", phase=AlertPhase.RESOLVED, fired_at=1.0, resolved_at=2.0)
    await write(store, AlertingChange(alerts=[RECORD, over], silence=SILENCE))
    await write(store, AlertingChange(silence=replace(SILENCE, id="s2", until=2.0), notices=[NOTICE]))
    sent = replace(NOTICE, id="n2", sent_at=1.0)
    await write(store, AlertingChange(notices=[sent]))
    await write(store, AlertingChange(tried_notices=[TriedNotice(sent, None)]))
    await write(store, AlertingChange(forget_before=50.0))
    assert await store.alert_history(owner=None, since=0, until=99, rule=None, limit=9) == []
    assert await store.open_alerts() == [RECORD]
    assert [one.id for one in await store.silences()] == ["s1"]
    assert [one.id for one in await store.notices_of("u-1", limit=9)] == ["n1"]


async def test_an_alert_its_notice_and_its_event_commit_together_or_not_at_all(store: Store) -> None:
    change = AlertingChange(alerts=[RECORD], notices=[NOTICE], removed_silence="missing")
    with pytest.raises(NotFound):
        await store.apply(Change(alerting=change, events=[Event("audit.alert.fire", 1.0)]))
    assert await store.open_alerts() == []
    assert await store.next_notice_at() is None
    assert await store.events() == []
