"""Turns the claims of a provider into a person."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from muster.domain.errors import Forbidden
from muster.domain.sign_in import Person
from muster.wire.requests import MYSELF, USER_PATTERN

_log = structlog.get_logger("identity")
_NAME = re.compile(USER_PATTERN.removesuffix("$") + r"\Z")
MAX_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class ClaimNames:
    user: str
    groups: str | None

    def are_in(self, claims: Mapping[str, Any]) -> bool:
        return self.user in claims and (self.groups is None or self.groups in claims)


def person_of(claims: Mapping[str, Any], issuer: str, names: ClaimNames) -> Person:
    is_usable = names.user != "email" or _is_confirmed(claims)
    name = valid_name(claims.get(names.user)) if is_usable else ""
    return Person(issuer, subject_of(claims), name, _groups(claims, names), _domain(claims))


def valid_name(name: Any) -> str:
    """The name, or nothing if no user can have it."""
    return name if isinstance(name, str) and _NAME.match(name) and name != MYSELF else ""


def valid_groups(found: list[Any]) -> tuple[str, ...]:
    """Groups with names that Muster allows. Others could be named nowhere, so they are left out."""
    valid = {group for group in found if isinstance(group, str) and _NAME.match(group)}
    if left_out := len(found) - len(valid):
        _log.info("groups with names that Muster does not allow are left out", count=left_out)
    return tuple(sorted(valid))


def subject_of(claims: Mapping[str, Any]) -> str:
    subject = str(claims["sub"])
    if len(subject) > MAX_SUBJECT:
        raise Forbidden("the identity provider names you in more than 255 characters")
    return subject


def _groups(claims: Mapping[str, Any], names: ClaimNames) -> tuple[str, ...] | None:
    """A provider leaves the claim out for somebody who is in no group."""
    if names.groups is None:
        return None
    found = claims.get(names.groups, [])
    return valid_groups([found] if isinstance(found, str) else found if isinstance(found, list) else [])


def _domain(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    if not isinstance(email, str) or not _is_confirmed(claims):
        return ""
    return email.rpartition("@")[2].lower()


def _is_confirmed(claims: Mapping[str, Any]) -> bool:
    return claims.get("email_verified") in (True, "true")
