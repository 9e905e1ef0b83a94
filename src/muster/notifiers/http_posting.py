"""Posts JSON to an address that may be a secret, within a deadline, and returns what was answered.

Addresses of webhooks contain keys, so that no message and no exception names more of one than its host.
"""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from muster.ports.notifying import NotDelivered
from muster.version import __version__

_MOST_BYTES = 64 << 10
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    text: str

    @property
    def document(self) -> Any:
        """The JSON of the answer; None if it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its content, which succeeds and delivers nothing."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(address: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None) -> Answered:
    """Raises NotDelivered if there is no answer, or if its status is not 2xx."""
    host = urlsplit(address).hostname or "the address"
    sent = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"muster/{__version__}", **(headers or {})}
    request = urllib.request.Request(address, body, sent, method="POST")  # noqa: S310 - http(s), checked when read
    opener = urllib.request.build_opener(_NoRedirects())
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return Answered(answer.status, answer.read(_MOST_BYTES).decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        with error:
            raise NotDelivered(f"{host} answered {error.code}: {_words(error)}") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"{host} {_why(error, timeout_s)}") from None


def shortened(text: str) -> str:
    """One line of text that others have written, short enough for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"


def _words(error: urllib.error.HTTPError) -> str:
    try:
        return shortened(error.read(_MOST_BYTES).decode("utf-8", "replace")) or "nothing"
    except (OSError, http.client.HTTPException):
        return "nothing"


def _why(error: Exception, timeout_s: float) -> str:
    found = getattr(error, "reason", error)
    if isinstance(found, TimeoutError):
        return f"did not answer within {timeout_s:g} s"
    if isinstance(found, ConnectionRefusedError):
        return "refused the connection"
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"has a certificate that cannot be trusted: {found.verify_message}"
    if isinstance(found, OSError) and found.strerror:
        return f"cannot be reached: {found.strerror}"
    return f"does not answer as a web server: {type(found).__name__}"
