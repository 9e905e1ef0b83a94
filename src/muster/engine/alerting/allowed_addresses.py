"""Which addresses users may give for their notices."""

from urllib.parse import urlsplit

from muster.lib.mail_addresses import is_mail_address
from muster.ports.alerting import RuleBook


def mail_is_allowed(book: RuleBook, address: str) -> bool:
    domain = address.rpartition("@")[2].lower()
    domains = {one.lower().removeprefix("@") for one in book.mail_domains}
    return is_mail_address(address) and (not domains or domain in domains)


def webhook_is_allowed(book: RuleBook, address: str) -> bool:
    """Only hosts that the admin has listed: the server reaches places that its users do not, and an address that a user
    chooses must not become a way into them. A host that is listed with its port may also be plain http."""
    try:
        parts = urlsplit(address)
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        return False
    if not host or "@" in parts.netloc or not address.isprintable() or " " in address:
        return False
    if f"{host}:{port}" in book.webhook_hosts and parts.scheme in ("http", "https"):
        return True
    return parts.scheme == "https" and port in (None, 443) and host in book.webhook_hosts
