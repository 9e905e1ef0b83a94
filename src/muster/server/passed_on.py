"""The client of a request that a standby has passed on: its address and scheme, in a header that only servers on the
same database can sign. Without it, all people behind a standby would count as one address."""

import hashlib
import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

HEADER = b"x-muster-client"
_SCHEMES = ("http", "https", "ws", "wss")


class PassedOn:
    """Pure ASGI, for the server that acts. A header with another signature is ignored."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and (header := passed_on_header(scope)) is not None:
            scope = {**scope, **_client(scope, header, self._key)}
        await self._app(scope, receive, send)


def passed_on_header(scope: Scope) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == HEADER), None)


def signed_client(scope: Scope, key: str) -> bytes:
    """Returns the value of the header. It holds for this request only."""
    client = scope.get("client")
    return _signed(scope, str(client[0]) if client else "", scope["scheme"], key)


def target_of(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return path + b"?" + query if query else path


def _client(scope: Scope, header: bytes, key: str) -> Scope:
    address, _, rest = header.decode("latin-1").partition(" ")
    scheme = rest.partition(" ")[0]
    if not key or scheme not in _SCHEMES or not hmac.compare_digest(header, _signed(scope, address, scheme, key)):
        return {}
    return {"client": (address, 0), "scheme": scheme}


def _signed(scope: Scope, address: str, scheme: str, key: str) -> bytes:
    said = b"\n".join((str(scope.get("method", "GET")).encode(), target_of(scope), address.encode(), scheme.encode()))
    digest = hmac.new(key.encode(), said, hashlib.sha256).hexdigest()
    return f"{address} {scheme} {digest}".encode()
