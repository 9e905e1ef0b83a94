"""Alerts in answers."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from muster.api.alerts import AlertCounts, AlertKindName, AlertOut, AlertSubjectOut, SeverityName, SubjectTypeName
from muster.domain.alerting.alerts import Alert, Severity, Subject
from muster.lib.clock import optional_iso


def alert_view(alert: Alert) -> AlertOut:
    return {
        "id": alert.id,
        "severity": cast("SeverityName", str(alert.severity)),
        "kind": cast("AlertKindName", str(alert.kind)),
        "subject": subject_view(alert.subject),
        "message": alert.message,
        "advice": alert.advice,
        "since": optional_iso(alert.since),
        "concernsMe": alert.concerns_me,
        "numbers": dict(alert.numbers),
    }


def alert_counts(alerts: Sequence[Alert]) -> AlertCounts:
    counts = Counter(alert.severity for alert in alerts)
    return {
        "critical": counts[Severity.CRITICAL],
        "warning": counts[Severity.WARNING],
        "info": counts[Severity.INFO],
        "concerningMe": sum(alert.concerns_me for alert in alerts),
    }


def subject_view(subject: Subject) -> AlertSubjectOut:
    return {
        "type": cast("SubjectTypeName", str(subject.type)),
        "name": subject.name,
        "cluster": subject.cluster or None,
        "id": subject.id or None,
    }
