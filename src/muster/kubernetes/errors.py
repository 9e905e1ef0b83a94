"""How requests to an API server fail: one class per reaction of the caller.

Rejected (domain)        the same request can never work
└── Refused              the API server answered with an error
    ├── Missing          the object does not exist (404)
    ├── Exists           an object with this name exists already (409)
    ├── Outdated         the object has changed in between: read it again (409)
    ├── Expired          the resource version is too old: list again (410)
    └── Denied           the account lacks the right, or a quota is exhausted (401, 403)
Unreachable (domain)     no answer came, or the server is overloaded: try again
"""

from collections.abc import Mapping
from typing import Any

from muster.domain.errors import Rejected, Unreachable


class Refused(Rejected):
    """`status` is the HTTP status, and `reason` the reason in the words of the API, such as `Invalid`."""

    def __init__(self, message: str, *, status: int, reason: str = "") -> None:
        super().__init__(message, reason=reason)
        self.status = status


class Missing(Refused):
    pass


class Exists(Refused):
    pass


class Outdated(Refused):
    pass


class Expired(Refused):
    pass


class Denied(Refused):
    pass


_BY_STATUS: Mapping[int, type[Refused]] = {401: Denied, 403: Denied, 404: Missing, 409: Outdated, 410: Expired}
_TEMPORARY = (408, 429, 500, 502, 503, 504)


def error_of(status: int, answer: Any) -> Refused | Unreachable:
    """The error for an answer, which is a `Status` object unless a proxy sent it."""
    told = answer if isinstance(answer, Mapping) else {}
    reason, message = str(told.get("reason") or ""), str(told.get("message") or answer or f"HTTP status {status}")
    if status in _TEMPORARY:
        return Unreachable(f"the API server cannot answer now: {message}")
    if reason == "AlreadyExists":
        return Exists(message, status=status, reason=reason)
    return _BY_STATUS.get(status, Refused)(message, status=status, reason=reason)
