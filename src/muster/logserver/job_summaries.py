"""What the records of a job say about it, all in all. Records that come late add only what is not known yet."""

from collections.abc import Mapping
from typing import Any

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
        if value not in _NOTHING and (is_newest or result.get(name) in _NOTHING) and not _is_of_task(record, name):
            result[name] = value
    if is_newest and record["kind"].startswith("job."):
        result |= {name: record[name] for name in _OF_NEWEST if name in record}
    if "submittedAt" not in result or record["at"] < result["submittedAt"]:
        result["submittedAt"] = record["at"]
    result["lastSeq"] = max(record["seq"], summary.get("lastSeq", 0))
    result["lastAt"] = max(record["at"], summary.get("lastAt", ""))
    result["receiver"] = record["receiver"]
    result["id"] = record["jobId"]
    return result


def _is_of_task(record: Mapping[str, Any], name: str) -> bool:
    """A record of a task has a name and times of its own."""
    return not record["kind"].startswith("job.") and name not in ("owner", "cluster", "server")
