"""Conditions of a job, as Kubernetes has them: a type, whether it holds, why, and since when."""

from collections.abc import Iterable, Mapping
from typing import Any

from muster.kubernetes.times import timestamp

Conditions = tuple[Mapping[str, Any], ...]

RUNNING, COMPLETED, FAILED = "Running", "Completed", "Failed"
SUSPENDED, RESTARTING = "Suspended", "Restarting"
SPEC_VALID, FIELDS_IGNORED, PODS_CREATED, NAME_CONFLICT = "SpecValid", "FieldsIgnored", "PodsCreated", "NameConflict"
PODS_STARTED = "PodsStarted"
"""False while containers cannot start, or fail again and again."""
ADMITTED = "Admitted"
"""False while gang scheduling keeps the job from starting."""


def read_conditions(status: Mapping[str, Any]) -> Conditions:
    found = status.get("conditions")
    return tuple(one for one in found if isinstance(one, Mapping)) if isinstance(found, list) else ()


def find(conditions: Iterable[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    return next((one for one in conditions if one.get("type") == kind), None)


def holds(conditions: Iterable[Mapping[str, Any]], kind: str) -> bool:
    return (find(conditions, kind) or {}).get("status") == "True"


def with_condition(
    conditions: Conditions, kind: str, is_true: bool, reason: str, message: str, now: float
) -> Conditions:
    """The conditions with this one set. Its time changes only if it was not so before."""
    before = find(conditions, kind)
    status = "True" if is_true else "False"
    since = before["lastTransitionTime"] if before and before.get("status") == status else timestamp(now)
    after = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}
    if before is None:
        return (*conditions, after)
    return tuple(after if one is before else one for one in conditions)


def with_problem(conditions: Conditions, kind: str, bad: bool, reason: str, message: str, now: float) -> Conditions:
    """A condition about something that can be wrong. It is left out as long as nothing ever was."""
    if not bad and find(conditions, kind) is None:
        return conditions
    is_true = kind in (FIELDS_IGNORED, NAME_CONFLICT)
    if bad:
        return with_condition(conditions, kind, is_true, reason, message, now)
    return with_condition(conditions, kind, not is_true, "Resolved", "", now)
