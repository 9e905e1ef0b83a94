"""Reads the file of rules of alerts: all its problems at once, each with its line."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ValidationError

from muster.domain.alerting.alert_rules import DEFAULT_RULES, AlertRule
from muster.domain.errors import Invalid, Problem
from muster.lib.nearest import nearest
from muster.settings.alerts import AlertNoticeSettings, AlertsSettings, RuleSettings, WrongRule, rule_of
from muster.settings.monitor import SmtpSettings
from muster.settings.secret_reading import SecretReader
from muster.settings.settings_files import in_words_of_rule
from muster.wire.cluster_problems import in_own_words, located
from muster.wire.documents import Document, dotted, read_document
from muster.wire.spec_problems import problems_of

_PARTS: Mapping[str, type[BaseModel]] = {"smtp": SmtpSettings, "notices": AlertNoticeSettings}


@dataclass(frozen=True, slots=True)
class AlertsConfig:
    """`folder` is that of the file, where relative paths start. The secrets are part of no listing."""

    settings: AlertsSettings = field(default_factory=AlertsSettings)
    rules: tuple[AlertRule, ...] = DEFAULT_RULES
    folder: Path = Path()
    smtp_password: str = field(default="", repr=False)
    addresses: tuple[str, ...] = field(default=(), repr=False)
    """The address of each of `notices`."""
    signing: tuple[str, ...] = field(default=(), repr=False)


def read_alerts_config(path: Path, environ: Mapping[str, str] = os.environ) -> AlertsConfig:
    """Raises Invalid with all problems. Relative paths start at the file."""
    document = _document(path)
    settings = _settings(path, document)
    problems: list[Problem] = []
    rules = _rules(settings, problems)
    folder = path.absolute().parent
    reader = SecretReader(folder, environ)
    smtp = settings.smtp
    password = "" if smtp is None else reader.one("smtp.password", "password", smtp.password_file, smtp.password_env)
    reader.authorities("smtp.caFile", None if smtp is None else smtp.ca_file)
    addresses, signing = [], []
    for place, way in enumerate(settings.notices):
        at = f"notices[{place}]"
        addresses.append(way.url or reader.address(f"{at}.url", way.url_file, way.url_env))
        signing.append(reader.one(f"{at}.secret", "signing secret", way.secret_file, way.secret_env))
    problems += reader.problems
    if problems:
        raise _wrong(path, document, problems)
    return AlertsConfig(settings, rules, folder, password, tuple(addresses), tuple(signing))


def _rules(settings: AlertsSettings, problems: list[Problem]) -> tuple[AlertRule, ...]:
    found = {rule.name: rule for rule in DEFAULT_RULES}
    for name, given in settings.rules.items():
        if given is None:
            if found.pop(name, None) is None:
                problems.append(
                    Problem(f"rules.{name}", "is off, but there is no default rule of that name", _guess(name))
                )
            continue
        try:
            found[name] = rule_of(name, given)
        except WrongRule as error:
            where = f"rules.{name}.{error.path}" if error.path else f"rules.{name}"
            problems.append(
                Problem(where, str(error), _guess(name) if given.check is None and name not in found else "")
            )
    known = {*found, *settings.rules, *(rule.name for rule in DEFAULT_RULES)}
    for name, given in settings.rules.items():
        for place, other in enumerate((given.inhibits if given is not None else None) or ()):
            if other not in known:
                problems.append(Problem(f"rules.{name}.inhibits[{place}]", f"there is no rule {other!r}"))
    return tuple(found.values())


def _guess(name: str) -> str:
    near = nearest(name, [rule.name for rule in DEFAULT_RULES])
    return f"did you mean {near}?" if near else ""


def _document(path: Path) -> Document:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise Invalid(f"cannot read {path}: it is not UTF-8 text") from None
    try:
        document = read_document(text)
    except Invalid as error:
        problems = tuple(replace(problem, file=str(path)) for problem in error.problems)
        raise Invalid(f"cannot read {path}: {error.message}", hint=error.hint, problems=problems) from None
    if document.data is None:
        return Document({})
    if not isinstance(document.data, dict):
        raise Invalid(f"cannot read {path}: it must have keys such as rules and mailTo")
    return document


def _settings(path: Path, document: Document) -> AlertsSettings:
    try:
        return AlertsSettings.model_validate(document.data)
    except ValidationError as error:
        said = [
            (dotted(item["loc"]), str(item["ctx"]["error"]))
            for item in error.errors(include_url=False)
            if item["type"] == "value_error"
        ]
        found = [
            in_own_words(one, _root_of(one), {} if one.path.startswith("rules.") else _PARTS)
            for one in problems_of(error, document.data).first
        ]
        raise _wrong(path, document, [in_words_of_rule(problem, said) for problem in found]) from None


def _root_of(problem: Problem) -> type[BaseModel]:
    """The keys of a rule are those of no other part."""
    return RuleSettings if problem.path.startswith("rules.") else AlertsSettings


def _wrong(path: Path, document: Document, problems: list[Problem]) -> Invalid:
    placed = tuple(replace(one, file=str(path)) for one in located(document, *problems).problems)
    return Invalid(f"the rules of alerts in {path} are wrong", problems=placed)
