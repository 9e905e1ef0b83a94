"""Alerts of rules, silences, rules and notices in answers."""

from typing import cast

from muster.api.alert_rules import AlertRuleOut, PhaseName, RuleAlertOut, SilenceOut
from muster.api.alerts import SeverityName
from muster.api.notices import NoticeOut, NoticeSettingsOut
from muster.domain.alerting.alert_records import AlertRecord, Silence
from muster.domain.alerting.alert_rules import CHECKS, AlertRule
from muster.domain.alerting.notices import NoticeSettings, QueuedNotice
from muster.lib.clock import iso, optional_iso
from muster.ports.alerting import RuleBook
from muster.wire.alert_views import subject_view


def rule_alert_view(record: AlertRecord, check: str, now: float) -> RuleAlertOut:
    """`check` is what the rule watches; empty if the rule is gone."""
    held_until = record.held_until if record.held_until is not None and now < record.held_until else None
    return {
        "id": record.id,
        "rule": record.rule,
        "check": check,
        "severity": cast("SeverityName", str(record.severity)),
        "subject": subject_view(record.subject),
        "owner": record.owner or None,
        "state": cast("PhaseName", str(record.phase)),
        "message": record.message,
        "advice": record.advice,
        "value": record.value,
        "since": iso(record.since),
        "firedAt": optional_iso(record.fired_at),
        "resolvedAt": optional_iso(record.resolved_at),
        "told": record.is_told and held_until is None,
        "heldUntil": optional_iso(held_until),
        "silencedBy": record.silenced_by or None,
        "inhibitedBy": record.inhibited_by or None,
        "done": list(record.done),
    }


def silence_view(silence: Silence) -> SilenceOut:
    return {
        "id": silence.id,
        "rule": silence.rule,
        "subject": silence.subject,
        "reason": silence.reason,
        "by": silence.by,
        "createdAt": iso(silence.created_at),
        "until": iso(silence.until),
    }


def alert_rule_view(rule: AlertRule) -> AlertRuleOut:
    return {
        "name": rule.name,
        "check": str(rule.check),
        "severity": cast("SeverityName", str(rule.severity)),
        "threshold": rule.threshold,
        "unit": CHECKS[rule.check].unit,
        "forSeconds": rule.for_s,
        "keepSeconds": rule.keep_s,
        "clusters": list(rule.clusters),
        "do": [str(action) for action in rule.actions],
        "inhibits": list(rule.inhibits),
    }


def notice_settings_view(settings: NoticeSettings, book: RuleBook) -> NoticeSettingsOut:
    mail = ["mail"] if settings.mail and book.has_mail else []
    return {
        "on": sorted(str(topic) for topic in settings.topics),
        "mail": settings.mail or None,
        "webhook": settings.webhook_kind or None,
        "webhookSecret": settings.webhook_secret or None,
        "waitingSeconds": settings.waiting_s,
        "quietHours": None if settings.quiet is None else str(settings.quiet),
        "timeZone": settings.time_zone,
        "language": settings.language,
        "ways": [*mail, *([settings.webhook_kind] if settings.webhook_kind else [])],
        "mailOffered": book.has_mail,
        "webhookHosts": list(book.webhook_hosts),
    }


def notice_view(notice: QueuedNotice) -> NoticeOut:
    return {
        "id": notice.id,
        "way": notice.way,
        "title": notice.title,
        "at": iso(notice.at),
        "dueAt": iso(notice.not_before),
        "sentAt": optional_iso(notice.sent_at),
        "tries": notice.tries,
        "error": notice.error,
    }
