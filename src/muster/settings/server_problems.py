"""Says what is wrong with the server's settings, with the file and line, or the variable, and the nearest key."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from muster.domain.errors import Problem
from muster.settings.influx import InfluxSettings
from muster.settings.ldap import LdapSettings
from muster.settings.limits import LimitSettings
from muster.settings.log_file import LogFileSettings
from muster.settings.log_server import LogServerSettings
from muster.settings.oidc import OidcSettings
from muster.wire.cluster_problems import in_own_words, located
from muster.wire.documents import Document, dotted
from muster.wire.spec_problems import problems_of

_PARTS: Mapping[str, type[BaseModel]] = {
    "influx": InfluxSettings,
    "ldap": LdapSettings,
    "limits": LimitSettings,
    "logFile": LogFileSettings,
    "logServer": LogServerSettings,
    "oidc": OidcSettings,
}


@dataclass(frozen=True, slots=True)
class Sources:
    """Where each setting was given. Later ones override earlier ones."""

    file: Path
    document: Document
    names: Mapping[str, str]
    """How the file writes each setting that it has."""
    variables: Mapping[str, str]
    """The variable of each setting that the environment has."""
    options: frozenset[str]


def settings_problems(
    error: ValidationError, values: Mapping[str, Any], root: type[BaseModel], sources: Sources
) -> tuple[Problem, ...]:
    said = {
        dotted(item["loc"]): str(item["ctx"]["error"])
        for item in error.errors(include_url=False)
        if item["type"] == "value_error"
    }
    found = (in_own_words(problem, root, _PARTS) for problem in problems_of(error, values).first)
    # A rule of our own says enough; the value is left out, because it may contain a password.
    plain = (replace(one, message=said[one.path], hint="") if one.path in said else one for one in found)
    return tuple(_placed(problem, sources) for problem in plain)


def _placed(problem: Problem, sources: Sources) -> Problem:
    setting = problem.path.partition(".")[0].partition("[")[0]
    rest = problem.path[len(setting) :]
    if not setting or setting in sources.options:
        return problem
    if setting in sources.variables:
        return replace(problem, path=sources.variables[setting] + rest)
    written = replace(problem, path=sources.names.get(setting, setting) + rest)
    return replace(located(sources.document, written).problems[0], file=str(sources.file))
