"""Addresses of web servers that something is posted to, as they may be in settings."""

from urllib.parse import urlsplit


def is_web_address(text: str) -> bool:
    """Whether it begins with http(s)://, and names a host and a port that can be looked up."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and text.isprintable() and " " not in text
