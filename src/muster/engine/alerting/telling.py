"""Makes notices of alerts and of jobs. Pure: the same alert gives the same notice, whose id makes it go out once."""

from collections.abc import Mapping
from dataclasses import replace

from muster.domain.alerting.alert_records import AlertPhase, AlertRecord
from muster.domain.alerting.alert_rules import AlertAction, AlertRule
from muster.domain.alerting.alerts import SubjectType
from muster.domain.alerting.notices import ADMINS, QueuedNotice
from muster.domain.jobs import Job
from muster.engine.alerting.condition_words import CONDITIONS, NEEDS_ACTION, Told
from muster.engine.alerting.reason_words import reason_of
from muster.engine.alerting.sentences import first_complete
from muster.engine.alerting.words import said
from muster.lib.clock import iso
from muster.lib.quantities import about_duration

_TOLD_ACTIONS = (AlertAction.CORDON, AlertAction.STOP, AlertAction.TAG, AlertAction.RESTART, AlertAction.STACKS)


def alert_notice(
    record: AlertRecord, rules: Mapping[str, AlertRule], way: str, language: str, now: float, user_id: str = ADMINS
) -> QueuedNotice:
    is_over = record.phase is AlertPhase.RESOLVED
    kind = "recovery" if is_over else "failure"
    what = "resolved" if is_over else "firing"
    rule = rules.get(record.rule)
    values = {
        "rule": record.rule,
        "subject": _subject(record, language),
        "message": _message(record, rule, language),
        "severity": said(language, f"severity.{record.severity}"),
        "since": iso(record.since),
        "until": iso(record.resolved_at or now),
    }
    parts = [said(language, f"{what}.text", **values)]
    if not is_over:
        parts += _what_follows(record, rule, language)
    return QueuedNotice(
        f"alert-{record.id}-{what}",
        way,
        user_id,
        kind,
        now,
        said(language, f"{what}.title", **values),
        "\n\n".join(parts),
        not_before=now,
        data={
            "alert": record.id,
            "rule": record.rule,
            "severity": str(record.severity),
            "state": str(record.phase),
            "subjectType": str(record.subject.type),
            "subject": record.subject.name,
            "cluster": record.subject.cluster,
            "message": record.message,
        },
    )


def in_language(record: AlertRecord, rules: Mapping[str, AlertRule], language: str) -> AlertRecord:
    """The alert with its message and advice as lists show them. What nobody has translated stays as it is."""
    rule = rules.get(record.rule)
    if _told(rule, language) is None:
        return record
    return replace(record, message=_message(record, rule, language), advice=_advice(record, rule, language))


def _what_follows(record: AlertRecord, rule: AlertRule | None, language: str) -> list[str]:
    parts = []
    if advice := _advice(record, rule, language):
        parts.append(said(language, "advice", advice=advice))
    name = record.subject.name
    actions = rule.actions if rule else ()
    done = [said(language, f"action.{action}", name=name) for action in actions if action in _TOLD_ACTIONS]
    if done:
        parts.append(said(language, "actions", actions="; ".join(done)))
    return [*parts, said(language, "once")]


def _subject(record: AlertRecord, language: str) -> str:
    if record.subject.type is SubjectType.SERVER:
        return said(language, "subject.server")
    return record.subject.name


def _message(record: AlertRecord, rule: AlertRule | None, language: str) -> str:
    """What it has found. Words of a rule that is gone, or of an older version, are those of the record."""
    told = _told(rule, language)
    if told is None:
        return record.message[:1].upper() + record.message[1:]
    why = NEEDS_ACTION.get(language, {}).get(record.words.get("code", ""))
    sentences = told.message if why is None else (why, *told.message)
    return first_complete(sentences, _values(record)) or record.message


def _advice(record: AlertRecord, rule: AlertRule | None, language: str) -> str:
    told = _told(rule, language)
    if told is None or not record.advice:
        return record.advice.rstrip(".")
    return first_complete(told.advice, _values(record))


def _told(rule: AlertRule | None, language: str) -> Told | None:
    return None if rule is None else CONDITIONS.get(language, {}).get(rule.check)


def _values(record: AlertRecord) -> Mapping[str, str]:
    subject = record.subject
    value = {} if record.value is None else {"value": f"{record.value:.0f}"}
    return {**record.words, "name": subject.name, "cluster": subject.cluster, "owner": record.owner, **value}


def job_notice(
    job: Job,
    topic: str,
    way: str,
    language: str,
    now: float,
    user_id: str,
    address: str,
    not_before: float,
    waiting_since: float | None = None,
) -> QueuedNotice:
    """`waiting_since` tells the waits of one attempt apart: a job may be held and resumed."""
    began = waiting_since or job.started_at or job.created_at
    until = now if waiting_since else job.ended_at or now
    values = {
        "job": job.name,
        "cluster": job.cluster,
        "reason": reason_of(job, language),
        "lasted": about_duration(max(0.0, until - began)),
    }
    see = said(language, "see", address=f"{address}/jobs/{job.id}", job=job.name)
    text = "\n\n".join((said(language, f"job.{topic}.text", **values), see, said(language, "settings")))
    kind = "failure" if topic == "failed" else "recovery" if topic == "succeeded" else "digest"
    wait = "" if waiting_since is None else f"-{waiting_since:.3f}"
    name = f"job-{job.id}-{topic}-{job.attempt}{wait}"
    title = said(language, f"job.{topic}.title", **values)
    data = {"job": job.id, "name": job.name, "cluster": job.cluster, "topic": topic, "reason": job.reason}
    return QueuedNotice(name, way, user_id, kind, now, title, text, not_before=not_before, data=data)
