"""Alerts of rules, silences and rules, as the API answers them."""

from typing import Annotated, Literal, TypedDict

from muster.api.alerts import AlertSubjectOut, SeverityName

PhaseName = Literal["pending", "firing", "resolved"]


class RuleAlertOut(TypedDict):
    id: str
    rule: str
    check: Annotated[str, "What the rule watches; empty if there is no such rule any more."]
    severity: SeverityName
    subject: AlertSubjectOut
    owner: Annotated[str | None, "The owner of the job that it is about."]
    state: Annotated[PhaseName, "`pending` while it has not lasted as long as the rule asks for."]
    message: Annotated[str, "What is wrong, in one sentence."]
    advice: Annotated[str, "What to do about it."]
    value: Annotated[float | None, "The figure that was compared with the threshold, when it fired."]
    since: str
    firedAt: str | None
    resolvedAt: str | None
    told: Annotated[bool, "Whether people were told of it."]
    heldUntil: Annotated[str | None, "Until when quiet hours hold back what people are told of it."]
    silencedBy: Annotated[str | None, "The id of the silence that keeps it from being told."]
    inhibitedBy: Annotated[str | None, "The rule whose alert keeps it from being told."]
    done: Annotated[list[str], "What was done about it, and what could not be done."]


class RuleAlertList(TypedDict):
    items: list[RuleAlertOut]


class SilenceOut(TypedDict):
    id: str
    rule: str
    subject: str
    reason: str
    by: str
    createdAt: str
    until: str


class SilenceList(TypedDict):
    items: list[SilenceOut]


class AlertRuleOut(TypedDict):
    name: str
    check: str
    severity: SeverityName
    threshold: float | None
    unit: Annotated[str, "That of the threshold; empty if the check has none."]
    forSeconds: float
    keepSeconds: float
    clusters: list[str]
    do: list[str]
    inhibits: list[str]


class AlertRuleList(TypedDict):
    items: list[AlertRuleOut]
    problems: Annotated[list[str], "What is wrong with the file of rules; those of before hold until it is right."]
    ways: Annotated[list[str], "The ways by which admins are told."]
