"""What the records of a job say about it, all in all. Records that come late add only what is not known yet."""

import math
from collections.abc import Mapping
from typing import Any

from muster.domain.tracking import is_followable

_DOCUMENTS = ("params", "fault", "used")
_NUMBERS = ("attempt", "retries", "preemptions", "ranS", "gpuHours")
_ABOUT_JOB = (
    *("name", "owner", "cluster", "vc", "framework", "priority", "package", "params", "trackingUrl", "server"),
    *("submittedAt", "startedAt", "endedAt", "fault", "used", "retries", "preemptions", "ranS", "gpuHours"),
)
_OF_NEWEST = ("state", "reason", "attempt")
_NOTHING: tuple[object, ...] = (None, "", {}, [])


def with_record(summary: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a job, with one more record of it."""
    is_newest = record["seq"] >= summary.get("lastSeq", 0)
    result = dict(summary)
    for name in _ABOUT_JOB:
        value = record.get(name)
        is_news = value not in _NOTHING and (is_newest or result.get(name) in _NOTHING)
        if is_news and _makes_sense(name, value) and not _is_of_task(record, name):
            result[name] = value
    if is_newest and record["kind"].startswith("job."):
        result |= {name: record[name] for name in _OF_NEWEST if name in record and _makes_sense(name, record[name])}
    if "submittedAt" not in result or record["at"] < result["submittedAt"]:
        result["submittedAt"] = record["at"]
    result["lastSeq"] = max(record["seq"], summary.get("lastSeq", 0))
    result["lastAt"] = max(record["at"], summary.get("lastAt", ""))
    result["receiver"] = record["receiver"]
    result["id"] = record["jobId"]
    return result


def _makes_sense(name: str, value: object) -> bool:
    """Whether it is of the kind that readers expect, whoever has sent it. Addresses become links."""
    if name in _DOCUMENTS:
        return isinstance(value, dict)
    if name in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not isinstance(value, str):
        return False
    return name != "trackingUrl" or is_followable(value) or (value.startswith("/") and not value.startswith("//"))


def _is_of_task(record: Mapping[str, Any], name: str) -> bool:
    """A record of a task has a name and times of its own."""
    return not record["kind"].startswith("job.") and name not in ("owner", "cluster", "server")
