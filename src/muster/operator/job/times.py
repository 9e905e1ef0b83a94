"""Times as the Kubernetes API writes them: RFC 3339 in UTC, with whole seconds."""

from datetime import UTC, datetime


def timestamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precise_timestamp(now: float) -> str:
    """With microseconds, as leases need it."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
