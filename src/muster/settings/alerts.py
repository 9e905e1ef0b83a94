"""The file of rules of alerts. Secrets are in files or variables of their own, and never in this file."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from muster.domain.alerting.alert_rules import CHECKS, DEFAULT_RULES, SUBJECTS_OF_ACTIONS, AlertAction, AlertRule, Check
from muster.domain.alerting.alerts import Severity
from muster.domain.alerting.notices import quiet_hours
from muster.lib.zones import known_zone
from muster.settings.monitor import Language, MailAddress, NoticeSettings, SmtpSettings
from muster.wire.spec_schema import Seconds

DEFAULT_WEBHOOK_HOSTS = ("hooks.slack.com", "oapi.dingtalk.com", "open.feishu.cn", "qyapi.weixin.qq.com")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?")


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True, hide_input_in_errors=True
    )


class RuleSettings(_Part):
    """One rule. In a rule with a default name, what is not given stays as it is by default."""

    check: Check | None = Field(None, description="What it watches; only rules with a default name need none.")
    severity: Severity | None = Field(None, description="critical, warning or info; warning by default.")
    threshold: float | None = Field(None, ge=0, description="The limit, for checks that have one.")
    for_: Seconds | None = Field(None, alias="for", ge=0, description="How long it must last; at once by default.")
    keep: Seconds | None = Field(None, ge=0, description="How long it must be over before it resolves; 2m by default.")
    clusters: tuple[str, ...] | None = Field(
        None, description="Which clusters, with * for any characters; all by default."
    )
    do: tuple[AlertAction, ...] | None = Field(None, description="What is done; notify by default.")
    inhibits: tuple[str, ...] | None = Field(
        None, description="Rules that are not told about the same node or cluster while this one fires."
    )


class AlertNoticeSettings(NoticeSettings):
    severities: tuple[Severity, ...] = Field(tuple(Severity), description="Which alerts are sent there.")


def _off(value: Any) -> Any:
    return None if value in (False, "off") else value


def _hours(value: str) -> str:
    quiet_hours(value)
    return value


def _host(value: str) -> str:
    if _HOST.fullmatch(value) is None:
        raise ValueError("must be the name of a host such as hooks.example.org, or with a port")
    return value.lower()


class AlertsSettings(_Part):
    rules: dict[str, Annotated[RuleSettings | None, BeforeValidator(_off)]] = Field(
        default_factory=dict, description="Rules by name; off switches a default rule off."
    )
    mail_to: tuple[MailAddress, ...] = Field((), max_length=1000, description="Admins who get mails.")
    smtp: SmtpSettings | None = Field(None, description="The mail server; without it there are no mails.")
    notices: tuple[AlertNoticeSettings, ...] = Field((), max_length=100, description="Other ways to admins.")
    language: Language = Field("en", description="The language of notices to admins.")
    quiet_hours: Annotated[str, AfterValidator(_hours)] | None = Field(
        None, description="When admins are told only what is critical, as 22:00-07:00."
    )
    time_zone: Annotated[str, AfterValidator(known_zone)] = Field("UTC", description="Where the quiet hours hold.")
    interval: Seconds = Field(15.0, ge=1, le=3600, description="The time between two evaluations.")
    user_webhook_hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = Field(
        DEFAULT_WEBHOOK_HOSTS,
        description="The hosts that webhooks of users may have; https only, unless listed with a port.",
    )
    user_mail_domains: tuple[str, ...] = Field((), description="The domains of users' mail addresses; any if empty.")

    @model_validator(mode="after")
    def _can_send_mails(self) -> Self:
        if self.mail_to and self.smtp is None:
            raise ValueError("mailTo needs smtp, such as smtp: {host: localhost}")
        return self


class WrongRule(Exception):
    """`path` is below the rule."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def rule_of(name: str, given: RuleSettings) -> AlertRule:
    """Raises WrongRule."""
    if _NAME.fullmatch(name) is None:
        raise WrongRule("", "the name of a rule has letters, digits, - and _, and begins with a letter")
    default = next((rule for rule in DEFAULT_RULES if rule.name == name), None)
    if default is None and given.check is None:
        known = ", ".join(rule.name for rule in DEFAULT_RULES)
        raise WrongRule("", f"needs check, because it is none of the default rules: {known}")
    check = given.check or (default.check if default else Check.NODE_UNREACHABLE)
    base = default if default is not None and default.check is check else _without_default(name, check)
    threshold = given.threshold if given.threshold is not None else base.threshold
    _fits_check(check, given.threshold)
    actions = tuple(dict.fromkeys(base.actions if given.do is None else given.do))
    for place, action in enumerate(actions):
        subject = CHECKS[check].subject
        if subject not in SUBJECTS_OF_ACTIONS[action]:
            wanted = " or ".join(sorted(SUBJECTS_OF_ACTIONS[action]))
            raise WrongRule(f"do[{place}]", f"{action} needs a {wanted}, and {check} is about a {subject}")
    return AlertRule(
        name,
        check,
        given.severity or base.severity,
        threshold,
        base.for_s if given.for_ is None else given.for_,
        base.keep_s if given.keep is None else given.keep,
        base.clusters if given.clusters is None else given.clusters,
        actions,
        base.inhibits if given.inhibits is None else given.inhibits,
    )


def _without_default(name: str, check: Check) -> AlertRule:
    """A limit that is not named is that of the default rule which watches the same."""
    threshold = next((rule.threshold for rule in DEFAULT_RULES if rule.check is check), None)
    return AlertRule(name, check, threshold=threshold)


def _fits_check(check: Check, given: float | None) -> None:
    unit = CHECKS[check].unit
    if given is not None and not unit:
        raise WrongRule("threshold", f"{check} has no threshold; `for` says how long it must last")
    if given is not None and unit == "percent" and given > 100:
        raise WrongRule("threshold", f"is {given:g}, but {check} compares percentages, from 0 to 100")
