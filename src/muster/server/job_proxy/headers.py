"""What is passed on of the headers of a request to a job and of its answer.

A job gets nothing by which it could act as its viewer, and a viewer's browser nothing that reaches beyond the job.
"""

from collections.abc import Iterable, Sequence

from muster.server.job_sessions import COOKIE
from muster.server.passed_on import HEADER
from muster.server.services import COOKIE as SESSION_COOKIE
from muster.server.session_cookies import BEGUN_COOKIE

Headers = Sequence[tuple[bytes, bytes]]
OWN_COOKIES = frozenset({COOKIE, SESSION_COOKIE, BEGUN_COOKIE})
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    b" transfer-encoding upgrade".split()
)
_NOT_PASSED_ON = frozenset(
    b"forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port x-forwarded-prefix x-real-ip"
    b" expect x-muster-request".split()
) | {HEADER}
_NOT_PASSED_BACK = frozenset(b"clear-site-data alt-svc strict-transport-security".split())
"""They would change what the browser does at other hosts of the same site."""
_OF_HANDSHAKE = frozenset(
    b"sec-websocket-key sec-websocket-version sec-websocket-extensions sec-websocket-protocol".split()
)
_FRAMED_BY_ITSELF = (b"content-security-policy", b"frame-ancestors 'self'")


def passed_on(headers: Headers, scheme: str, authorization: bytes | None) -> list[tuple[bytes, bytes]]:
    """The headers that a job gets. `authorization` is what the job expects of whoever comes through Muster."""
    left_out = _HOP_BY_HOP | _NOT_PASSED_ON | _named(headers) | ({b"authorization"} if authorization else set())
    kept = []
    for name, value in headers:
        if name in left_out or (name == b"authorization" and is_own_token(value)):
            continue
        if name == b"cookie":
            value = others_cookies(value)  # noqa: PLW2901
            if not value:
                continue
        kept.append((name, value))
    kept.append((b"x-forwarded-proto", scheme.encode()))
    return [*kept, (b"authorization", authorization)] if authorization else kept


def without_handshake(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """A WebSocket makes these anew."""
    return [(name, value) for name, value in headers if name not in _OF_HANDSHAKE and name != b"host"]


def passed_back(headers: Headers) -> list[tuple[bytes, bytes]]:
    left_out = _HOP_BY_HOP | _NOT_PASSED_BACK | _named(headers)
    kept = []
    for name, value in headers:
        if name in left_out:
            continue
        if name == b"set-cookie":
            value = confined_cookie(value)  # noqa: PLW2901
            if not value:
                continue
        kept.append((name, value))
    return [*kept, _FRAMED_BY_ITSELF]


def others_cookies(value: bytes) -> bytes:
    """The cookies of a request without Muster's own."""
    return b"; ".join(one for one in (part.strip() for part in value.split(b";")) if one and not _is_own(one))


def confined_cookie(value: bytes) -> bytes:
    """A cookie that a job sets, for its own host only; nothing if it has a name of Muster's."""
    if _is_own(value):
        return b""
    first, *attributes = value.split(b";")
    kept = [one for one in attributes if one.partition(b"=")[0].strip().lower() != b"domain"]
    return b";".join([first, *kept])


def own_cookies(headers: Headers, name: str) -> list[str]:
    """All values of a cookie: a page may have set another one of the same name for a longer path."""
    found = []
    for _, value in (one for one in headers if one[0] == b"cookie"):
        for part in value.split(b";"):
            key, _, content = part.strip().partition(b"=")
            if key == name.encode():
                found.append(content.decode("latin-1"))
    return found


def is_own_token(value: bytes) -> bool:
    return b"mst_" in value


def _is_own(cookie: bytes) -> bool:
    return cookie.partition(b"=")[0].strip().decode("latin-1").lower() in OWN_COOKIES


def _named(headers: Headers) -> frozenset[bytes]:
    """The headers that are for the next hop only, as the header Connection names them."""
    return frozenset(
        word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")
    ) - {b"host", b"cookie", b"authorization", b"content-length", b"origin"}
