"""The address that a link to this server begins with. Whoever makes a request chooses its Host, so that it is believed
only if it is a name of this server."""

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from fastapi import Request

from muster.domain.errors import Invalid
from muster.server.services import Services


async def own_address(request: Request, parts: Services) -> str:
    """Raises Invalid if the caller has reached the server under a name that is none of its own."""
    if parts.public_url:
        return parts.public_url
    name = request.url.hostname or ""
    listens_at = str((request.scope.get("server") or ("",))[0])
    known = {"localhost", listens_at, urlsplit(parts.public_address).hostname, socket.gethostname().lower()}
    if name in known or _is_loopback(name) or name == (await asyncio.to_thread(socket.getfqdn)).lower():
        return str(request.base_url).rstrip("/")
    raise Invalid(
        f"{name[:100]!r} is not known as a name of this server, so that no link can begin with it",
        hint="an admin sets publicUrl to the address at which people reach the server",
    )


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
