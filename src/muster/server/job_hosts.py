"""The names of hosts at which jobs are seen: `p8888-JOB.DOMAIN`. A host that is below the domain is never Muster's own.

Browsers resolve every name below `localhost` to their own machine, so that this works without any settings for people
at the server's machine, or with a tunnel to it. For others, an admin sets up a domain with a wildcard.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

LOOPBACK_DOMAIN = "localhost"
_LABEL = re.compile(r"p([1-9][0-9]{0,4})-([0-9a-hjkmnp-tv-z]{16})")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class JobPort:
    job_id: str
    port: int

    @property
    def label(self) -> str:
        return f"p{self.port}-{self.job_id}"


@dataclass(frozen=True, slots=True)
class ProxyHosts:
    """`url` is the address of jobs with `*` in place of their label, such as https://*.jobs.example.org; empty if only
    people at the server's machine see them."""

    url: str = ""

    def is_below(self, host: str) -> bool:
        """Whether the host of a request is one of jobs. It may have a port."""
        name, _ = split_host(host)
        return any(name.endswith(f".{domain}") for domain in self._domains)

    def parsed(self, host: str) -> JobPort | None:
        name, _ = split_host(host)
        for domain in self._domains:
            found = _LABEL.fullmatch(name.removesuffix(f".{domain}")) if name.endswith(f".{domain}") else None
            if found and int(found[1]) <= 65_535:
                return JobPort(found[2], int(found[1]))
        return None

    def origin(self, target: JobPort, scheme: str, host: str) -> str | None:
        """The origin at which somebody who reaches Muster at this host sees the job; None if there is none."""
        if self.url:
            return self.url.replace("*", target.label, 1)
        name, port = split_host(host)
        if name not in _LOOPBACK:
            return None
        return f"{scheme}://{target.label}.{LOOPBACK_DOMAIN}{port}"

    @property
    def _domains(self) -> tuple[str, ...]:
        own = urlsplit(self.url.replace("*.", "", 1)).hostname if self.url else None
        return (LOOPBACK_DOMAIN,) if own is None else (LOOPBACK_DOMAIN, own)


def host_of(scope: Scope) -> str:
    """The host of a request; empty if it has none, or several."""
    found = [value for name, value in scope["headers"] if name == b"host"]
    return found[0].decode("latin-1").lower() if len(found) == 1 else ""


def split_host(host: str) -> tuple[str, str]:
    """The name and, with its colon, the port."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or not port.isdigit():
        return host.lower().rstrip("."), ""
    return name.rstrip("."), f":{port}"
