"""What a standby says of a request that it passes on: the client's address and scheme, and the clusters that the
standby offers. It is in a header that only servers on the same database can sign. Without it, all people behind a
standby would count as one address, and would be offered what the server that acts offers."""

import hashlib
import hmac
import json
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from muster.engine.offered_clusters import Offers, offering
from muster.server.offers import OwnOffers, all_clusters

HEADER = b"x-muster-client"
_SCHEMES = ("http", "https", "ws", "wss")


class PassedOn:
    """Pure ASGI, for the server that acts. A header with another signature is ignored: its request came from somebody
    else, and is offered what this server offers itself."""

    def __init__(self, app: ASGIApp, key: str, own_offers: OwnOffers = all_clusters) -> None:
        self._app = app
        self._key = key
        self._own_offers = own_offers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        offers = self._own_offers()
        if scope["type"] in ("http", "websocket") and (header := passed_on_header(scope)) is not None:
            said = _said(scope, header, self._key)
            if said is not None:
                client, offers = said
                scope = {**scope, **client}
        with offering(offers):
            await self._app(scope, receive, send)


def passed_on_header(scope: Scope) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == HEADER), None)


def signed_client(scope: Scope, key: str, offers: Offers | None = None) -> bytes:
    """Returns the value of the header. It holds for this request only."""
    client = scope.get("client")
    said = json.dumps(
        {
            "address": str(client[0]) if client else "",
            "scheme": scope["scheme"],
            **({} if offers is None else {"offers": sorted(offers)}),
        }
    ).encode()
    return _signature(scope, said, key) + b" " + said


def target_of(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return path + b"?" + query if query else path


def _said(scope: Scope, header: bytes, key: str) -> tuple[Scope, Offers | None] | None:
    signature, _, said = header.partition(b" ")
    if not key or not hmac.compare_digest(signature, _signature(scope, said, key)):
        return None
    told: dict[str, Any] = json.loads(said)
    if told["scheme"] not in _SCHEMES:
        return None
    offers = frozenset(told["offers"]) if "offers" in told else None
    return {"client": (told["address"], 0), "scheme": told["scheme"]}, offers


def _signature(scope: Scope, said: bytes, key: str) -> bytes:
    whole = b"\n".join((str(scope.get("method", "GET")).encode(), target_of(scope), said))
    return hmac.new(key.encode(), whole, hashlib.sha256).hexdigest().encode()
