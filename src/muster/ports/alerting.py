"""The seam to where the rules of alerts come from, and to the ways by which notices go out."""

from dataclasses import dataclass
from typing import Protocol

from muster.domain.alerting.alert_rules import DEFAULT_RULES, AlertRule
from muster.domain.alerting.alerts import Severity
from muster.domain.alerting.notices import QuietHours
from muster.domain.errors import Problem
from muster.ports.notifying import Notifier


@dataclass(frozen=True, slots=True)
class AdminWay:
    """One way to the admins. Quiet hours do not hold back what is critical."""

    name: str
    language: str = "en"
    severities: frozenset[Severity] = frozenset(Severity)


@dataclass(frozen=True, slots=True)
class RuleBook:
    """What the file of rules says."""

    rules: tuple[AlertRule, ...] = DEFAULT_RULES
    ways: tuple[AdminWay, ...] = ()
    has_mail: bool = False
    """Whether there is a mail server, so that users can get mails."""
    mail_domains: tuple[str, ...] = ()
    """The domains that users' mail addresses may have; any if empty."""
    webhook_hosts: tuple[str, ...] = ()
    """The hosts that users' webhooks may have."""
    quiet: QuietHours | None = None
    time_zone: str = "UTC"
    interval_s: float = 15.0
    problems: tuple[Problem, ...] = ()
    """What is wrong with the file; the rules are then those of before."""


class AlertSource(Protocol):
    def book(self) -> RuleBook:
        """The rules as they are now. It reads a file that has changed, so callers use a thread. It does not raise."""
        ...

    def admin_notifier(self, way: str) -> Notifier | None:
        """Returns None if the rules do not have this way any more."""
        ...

    def user_notifier(self, kind: str, address: str) -> Notifier | None:
        """For `mail` the address is one of mail, for others that of a webhook. None if the rules do not allow it."""
        ...

    def certificate_ends_at(self) -> float | None:
        """When the certificate of the server ends; None if it has none."""
        ...


class NoAlertSource:
    """The source of programs that are no server: the default rules, and nobody to tell."""

    def book(self) -> RuleBook:
        return RuleBook()

    def admin_notifier(self, way: str) -> Notifier | None:
        return None

    def user_notifier(self, kind: str, address: str) -> Notifier | None:
        return None

    def certificate_ends_at(self) -> float | None:
        return None
