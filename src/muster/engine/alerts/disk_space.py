"""When a disk is too full."""

from muster.domain.alerting.alerts import Alert, AlertKind, Severity, Subject
from muster.lib.quantities import about_bytes

_FULL = 0.9
_NEARLY_NOTHING_LEFT = 0.97
_ENOUGH_BYTES = 50 << 30
"""A disk with so much room is never called full, however large it is."""
_LITTLE_BYTES = 2 << 30


def disk_alert(
    kind: AlertKind, subject: Subject, what: str, used_bytes: int, total_bytes: int, *, concerns_me: bool
) -> Alert | None:
    """Returns None if there is room, or if nothing is known."""
    free_bytes = total_bytes - used_bytes
    if not total_bytes or used_bytes < total_bytes * _FULL or free_bytes > _ENOUGH_BYTES:
        return None
    is_urgent = used_bytes >= total_bytes * _NEARLY_NOTHING_LEFT or free_bytes < _LITTLE_BYTES
    percent = round(100 * used_bytes / total_bytes)
    return Alert(
        kind,
        Severity.CRITICAL if is_urgent else Severity.WARNING,
        subject,
        f"{what} is {percent} % full: {about_bytes(free_bytes)} of {about_bytes(total_bytes)} are free",
        "remove what nobody needs, or ask an admin to",
        numbers={"percent": percent, "freeBytes": free_bytes, "totalBytes": total_bytes},
        concerns_me=concerns_me,
    )
