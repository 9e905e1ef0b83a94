"""Names of time zones."""

from zoneinfo import ZoneInfo


def known_zone(text: str) -> str:
    """Raises ValueError if there is no such zone."""
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError("is not a time zone such as Europe/Berlin, Asia/Shanghai or UTC") from None
    return text
