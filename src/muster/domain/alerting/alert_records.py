"""The life of an alert that a rule has found: it is pending while it has not lasted long enough, then it fires, and it
resolves after its cause has been gone for a while. A pure function takes all alerts one step on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase

from muster.domain.alerting.alert_conditions import Condition, node_of
from muster.domain.alerting.alert_rules import AlertAction, AlertRule
from muster.domain.alerting.alerts import Severity, Subject, SubjectType

_TELLING = frozenset({AlertAction.NOTIFY, AlertAction.MAIL_OWNER})


class AlertPhase(StrEnum):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class AlertRecord:
    id: str
    rule: str
    severity: Severity
    subject: Subject
    phase: AlertPhase
    message: str
    since: float
    advice: str = ""
    value: float | None = None
    owner: str = ""
    attempt: int = 0
    fired_at: float | None = None
    clear_since: float | None = None
    """Since when its cause is gone, while it still fires."""
    resolved_at: float | None = None
    is_told: bool = False
    """Whether people were told that it fires. Only then are they told that it is over, if it is not silenced then."""
    tells: tuple[AlertAction, ...] | None = None
    """Of `notify` and `mail-owner`, those that told people that it fires: the same people hear of its end, also if the
    rule has changed meanwhile. None if nobody was told yet, or by an older version."""
    held_until: float | None = None
    """Until when quiet hours hold back what people are told; None if they do not."""
    silenced_by: str = ""
    inhibited_by: str = ""
    todo: tuple[AlertAction, ...] = ()
    """What is still to be done about it."""
    done: tuple[str, ...] = ()
    """What was done, or why it could not be done."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Names and figures of the message, of which it is made in other languages."""

    @property
    def key(self) -> str:
        return Condition(self.rule, self.subject, "").key


@dataclass(frozen=True, slots=True)
class Silence:
    """Alerts that match are not told and nothing is done about them. * stands for any characters."""

    id: str
    rule: str
    subject: str
    """The name of a node, GPU, cluster or job, or CLUSTER/NAME."""
    reason: str
    by: str
    created_at: float
    until: float

    def matches(self, record: AlertRecord, now: float) -> bool:
        subject = record.subject
        names = (subject.name, f"{subject.cluster}/{subject.name}", subject.id)
        is_named = any(fnmatchcase(name, self.subject) for name in names if name)
        return now < self.until and fnmatchcase(record.rule, self.rule) and is_named


@dataclass(frozen=True, slots=True)
class Step:
    """What changes in one step. `fired` and `resolved` are those that people are told of."""

    changed: tuple[AlertRecord, ...] = ()
    dropped: tuple[str, ...] = ()
    """The ids of alerts that were pending, and whose cause is gone."""
    fired: tuple[AlertRecord, ...] = ()
    resolved: tuple[AlertRecord, ...] = ()


IsUnknown = Callable[[str, Subject], bool]


def advanced(
    records: Sequence[AlertRecord],
    found: Sequence[Condition],
    rules: Sequence[AlertRule],
    silences: Sequence[Silence],
    now: float,
    new_id: Callable[[], str],
    is_unknown: IsUnknown = lambda *_: False,
) -> Step:
    """`records` are those that have not resolved, at most one for each rule and subject."""
    known = {rule.name: rule for rule in rules}
    before = {record.key: record for record in records}
    holding = {condition.key: condition for condition in found}
    after: dict[str, AlertRecord] = {}
    dropped = []
    for key, record in before.items():
        moved = _moved(record, holding.get(key), known.get(record.rule), now, is_unknown)
        if moved is None:
            dropped.append(record.id)
        else:
            after[key] = moved
    for key, condition in holding.items():
        if key not in before:
            after[key] = _begun(condition, known[condition.rule], now, new_id())
    judged = _judged(after, known, silences, now)
    return Step(
        tuple(record for key, record in judged.items() if record != before.get(key)),
        tuple(dropped),
        tuple(record for key, record in judged.items() if record.is_told and not _was_told(before.get(key))),
        tuple(
            record
            for record in judged.values()
            if record.phase is AlertPhase.RESOLVED and record.is_told and not record.silenced_by
        ),
    )


def shifted(record: AlertRecord, by_s: float) -> AlertRecord:
    """The record after the wall clock was set by so much: what has lasted so far has lasted as long as before."""
    since = record.since + by_s if record.phase is AlertPhase.PENDING else record.since
    clear_since = None if record.clear_since is None else record.clear_since + by_s
    return replace(record, since=since, clear_since=clear_since)


def _was_told(record: AlertRecord | None) -> bool:
    return record is not None and record.is_told


def _begun(condition: Condition, rule: AlertRule, now: float, new_id: str) -> AlertRecord:
    since = min(now, condition.since) if condition.since is not None else now
    phase = AlertPhase.PENDING
    record = AlertRecord(new_id, rule.name, rule.severity, condition.subject, phase, condition.message, since)
    return _continued(_worded(record, condition), condition, rule, now)


def _continued(record: AlertRecord, condition: Condition, rule: AlertRule, now: float) -> AlertRecord:
    """The words stay as they are until it fires, and then as they were told: figures that move with each sample would
    be written each time."""
    if record.phase is AlertPhase.FIRING:
        return replace(record, clear_since=None)
    if now - record.since < rule.for_s:
        return record
    return replace(_worded(record, condition), phase=AlertPhase.FIRING, fired_at=now)


def _worded(record: AlertRecord, condition: Condition) -> AlertRecord:
    return replace(
        record,
        message=condition.message,
        advice=condition.advice,
        value=condition.value,
        owner=condition.owner,
        attempt=condition.attempt,
        words=condition.words,
    )


def _moved(
    record: AlertRecord, condition: Condition | None, rule: AlertRule | None, now: float, is_unknown: IsUnknown
) -> AlertRecord | None:
    """Returns None if the alert was pending and is over."""
    if rule is not None and condition is not None:
        return _continued(record, condition, rule, now)
    if rule is not None and is_unknown(record.rule, record.subject):
        return record
    if record.phase is AlertPhase.PENDING:
        return None
    clear_since = record.clear_since if record.clear_since is not None else now
    if rule is None or now - clear_since >= rule.keep_s:
        return replace(record, phase=AlertPhase.RESOLVED, clear_since=clear_since, resolved_at=now, todo=())
    return replace(record, clear_since=clear_since)


def _judged(
    records: Mapping[str, AlertRecord], rules: Mapping[str, AlertRule], silences: Sequence[Silence], now: float
) -> dict[str, AlertRecord]:
    """Decides who is told. An alert that is silenced or inhibited is told when that ends, if it still fires then.
    Nobody is told of the end of one that is silenced then."""
    firing = [record for record in records.values() if record.phase is AlertPhase.FIRING]
    judged = {}
    for key, record in records.items():
        if record.phase is AlertPhase.PENDING:
            judged[key] = record
            continue
        silence = next((one.id for one in silences if one.matches(record, now)), "")
        if record.phase is AlertPhase.RESOLVED:
            judged[key] = replace(record, silenced_by=silence)
            continue
        inhibitor = next((one.rule for one in firing if _inhibits(one, record, rules)), "")
        marked = replace(record, silenced_by=silence, inhibited_by=inhibitor)
        rule = rules.get(record.rule)
        is_new = (
            rule is not None and not silence and not inhibitor and not record.is_told and record.clear_since is None
        )
        judged[key] = _told(marked, rule) if rule is not None and is_new else marked
    return judged


def _told(record: AlertRecord, rule: AlertRule) -> AlertRecord:
    return replace(record, is_told=True, tells=tuple(one for one in rule.actions if one in _TELLING), todo=_acts(rule))


def _acts(rule: AlertRule) -> tuple[AlertAction, ...]:
    """What is done besides telling people. Evidence is collected before anything changes."""
    acts = [action for action in rule.actions if action not in _TELLING]
    return tuple(sorted(acts, key=lambda action: action is not AlertAction.STACKS))


def _inhibits(source: AlertRecord, target: AlertRecord, rules: Mapping[str, AlertRule]) -> bool:
    rule = rules.get(source.rule)
    if rule is None or target.rule not in rule.inhibits or source.subject.cluster != target.subject.cluster:
        return False
    return source.subject.type is SubjectType.CLUSTER or node_of(source.subject) == node_of(target.subject)
