"""The role of a standby: it passes requests on to the server that holds the lease, with the caller's own token.

While no server holds the lease, single reads are answered from the store, and everything else waits for a moment and is
then refused with 503 and Retry-After.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from muster.lib.fingerprints import fingerprint_of, unverified_context
from muster.server.http_exchange import Headers, HttpExchange
from muster.server.job_hosts import ProxyHosts, host_of
from muster.server.offers import Offering, OwnOffers, all_clusters
from muster.server.passed_on import HEADER, passed_on_header, signed_client
from muster.server.role_switch import UNTOUCHED, unavailable, unsure
from muster.server.socket_forwarding import SocketExchange

_CONNECT_WITHIN_S = 2.0
_WAIT_FOR_HOLDER_S = 8.0
_LOOK_EVERY_S = 0.05
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"})
_BY_PROXIES = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-proto", HEADER})
"""Headers that say who the client is. This server has read them if it trusts the proxy."""
_OF_HANDSHAKE = frozenset(
    {b"host", *(b"sec-websocket-" + name for name in (b"key", b"version", b"extensions", b"protocol"))}
)
_HEALTH = "/api/v1/server/health"
_OWN_PATHS = ("/healthz", "/metrics", "/portal/", "/openapi.json", "/api/v1/server/log", _HEALTH)
_SAFE = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Holder:
    """The server that holds the lease. The fingerprint of its certificate may follow after `#` in its address."""

    address: str
    key: str = field(repr=False)


FindHolder = Callable[[], Holder | None]
"""Returns None if no other server holds the lease."""


class Forwarding:
    """Pure ASGI. `own` is the application of this server, which can read the store and nothing else."""

    def __init__(
        self,
        own: ASGIApp,
        holder: FindHolder,
        wait_s: float = _WAIT_FOR_HOLDER_S,
        jobs: ProxyHosts = ProxyHosts(),  # noqa: B008 - it cannot change
        own_offers: OwnOffers = all_clusters,
    ) -> None:
        self._own = Offering(own, own_offers)
        self._own_offers = own_offers
        self._jobs = jobs
        self._holder = holder
        self._wait_s = wait_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] not in ("http", "websocket"):
            await self._own(scope, receive, send)
            return
        is_own = (path == "/" or path.startswith(_OWN_PATHS)) and not _asks_holder(scope)
        if is_own and not self._jobs.is_below(host_of(scope)):
            await self._own(scope, receive, send)
            return
        if passed_on_header(scope) is not None:  # else two servers that take each other for the holder would never end
            await refuse(scope, receive, send, "this server does not hold the lease")
            return
        scope[UNTOUCHED] = True
        connected = await self._connected()
        scope.pop(UNTOUCHED)
        if connected is not None and scope["type"] == "websocket":
            exchange = SocketExchange(receive, send, connected.reader, connected.writer, _without_hops)
            await exchange.run(scope, _host(scope), self._passed_headers(scope, connected.key))
        elif connected is not None:
            await _pass(scope, receive, send, connected, self._passed_headers(scope, connected.key))
        elif _can_be_read(scope):
            await self._own(scope, receive, send)
        else:
            await refuse(scope, receive, send, "no server holds the lease at the moment")

    def _passed_headers(self, scope: Scope, key: str) -> list[tuple[bytes, bytes]]:
        """Those of a handshake are made anew."""
        left_out = _HOP_BY_HOP | _BY_PROXIES | (_OF_HANDSHAKE if scope["type"] == "websocket" else frozenset())
        kept = [(name, value) for name, value in scope["headers"] if name not in left_out]
        return [*kept, (HEADER, signed_client(scope, key, self._own_offers()))]

    async def _connected(self) -> "_Connection | None":
        """A connection to the holder. A holder that died is soon replaced, by this server or by another."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._wait_s
        while True:
            holder = self._holder()
            if holder is not None:
                try:
                    return await _connect(holder)
                except (OSError, TimeoutError):
                    pass
            if loop.time() >= give_up_at:
                return None
            await asyncio.sleep(_LOOK_EVERY_S)


def _asks_holder(scope: Scope) -> bool:
    """Whether the server that acts is asked how it is."""
    return scope["path"] == _HEALTH and b"acting=true" in scope["query_string"].split(b"&")


async def refuse(scope: Scope, receive: Receive, send: Send, why: str) -> None:
    await unavailable(why)(scope, receive, send)


def _can_be_read(scope: Scope) -> bool:
    """Whether the store alone can answer. Streams and waits need a server that learns of changes."""
    is_stream = b"follow" in scope["query_string"] or scope["path"].endswith("/wait")
    return scope.get("method") in _SAFE and scope["path"].startswith(("/api/", "/rest-server/")) and not is_stream


@dataclass(frozen=True, slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    key: str = field(repr=False)


async def _connect(holder: Holder) -> _Connection:
    parts = urlsplit(holder.address)
    is_secure, pinned = parts.scheme == "https", parts.fragment
    port = parts.port or (443 if is_secure else 80)
    async with asyncio.timeout(_CONNECT_WITHIN_S):
        reader, writer = await asyncio.open_connection(
            parts.hostname, port, ssl=_context(pinned) if is_secure else None
        )
    if is_secure and pinned:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if fingerprint_of(certificate) != pinned:
            writer.close()
            raise ConnectionRefusedError("the certificate of the other server is not the one in the lease")
    return _Connection(reader, writer, holder.key)


def _context(pinned: str) -> ssl.SSLContext:
    """The holder's certificate is the one in the lease; without one there, it must be signed as others are."""
    return unverified_context() if pinned else ssl.create_default_context()


def _host(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "muster")


async def _pass(
    scope: Scope, receive: Receive, send: Send, connection: _Connection, headers: list[tuple[bytes, bytes]]
) -> None:
    async def refused() -> None:
        why = "the server that holds the lease did not answer; the request may have been carried out"
        await unsure(why)(scope, receive, send)

    exchange = HttpExchange(scope, receive, send, connection.reader, connection.writer)
    try:
        await exchange.run(headers, _without_hops, refused)
    finally:
        connection.writer.close()


def _without_hops(headers: Headers) -> Headers:
    return [(name, value) for name, value in headers if name not in _HOP_BY_HOP]
