"""Who looks at which port of which job: a link that is good once, and then a cookie for that port of that job only.

The cookie is signed and not stored, so that a page goes on after a restart of the server. It names the token of whoever
opened the link by its digest, and is worth nothing once that token has ended.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field

from muster.engine.requests.login_links import LINK_S
from muster.lib.clock import Clock, wall_clock
from muster.lib.one_time import OneTime
from muster.server.job_hosts import JobPort

COOKIE = "muster_job"
SESSION_S = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What a link is for."""

    target: JobPort
    secret_hash: str = field(repr=False)
    """The hash of the token with which the link was asked for."""


class ProxySessions:
    """Only servers know `key`."""

    def __init__(self, key: bytes, clock: Clock = wall_clock) -> None:
        self._key = hmac.new(key, b"job proxy", hashlib.sha256).digest()
        self._clock = clock
        self._links: OneTime[Entry] = OneTime(clock, LINK_S)

    def link(self, entry: Entry, holder: str) -> str:
        return self._links.put(entry, holder)

    def taken(self, ticket: str, target: JobPort) -> Entry | None:
        """What the link is for, if it is for this. It is worth nothing from now on."""
        entry = self._links.take(ticket)
        return entry if entry is not None and entry.target == target else None

    def cookie(self, entry: Entry) -> str:
        said = {"h": entry.target.label, "t": entry.secret_hash, "e": int(self._clock() + SESSION_S)}
        body = base64.urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=").decode()
        return f"{body}.{self._signature(body)}"

    def secret_hash(self, cookie: str, target: JobPort) -> str | None:
        """The token behind a cookie, if the cookie is for this and still valid."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._signature(body).encode(), signature.encode("utf-8", "replace")):
            return None
        try:
            said = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, binascii.Error):
            return None
        return str(said["t"]) if said["h"] == target.label and said["e"] > self._clock() else None

    def _signature(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
