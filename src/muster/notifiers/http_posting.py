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

from muster.lib.deadlines import Deadline, guarded_opener
from muster.lib.redirects import NoRedirects
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


def post(address: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None) -> Answered:
    """Raises NotDelivered if there is no answer, or if its status is not 2xx. Whatever happens, nothing is sent after
    the timeout; the text of an answer that has not ended then is what has come of it."""
    host = urlsplit(address).hostname or "the address"
    sent = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"muster/{__version__}", **(headers or {})}
    request = urllib.request.Request(address, body, sent, method="POST")  # noqa: S310 - http(s), checked when read
    with Deadline(timeout_s) as deadline:
        try:
            with guarded_opener(deadline, NoRedirects()).open(request, timeout=timeout_s) as answer:
                return Answered(answer.status, _text(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise NotDelivered(f"{host} answered {error.code}: {shortened(_text(error)) or 'nothing'}") from None
        except (OSError, http.client.HTTPException) as error:
            why = _late(timeout_s) if deadline.is_over else _why(error, timeout_s)
            raise NotDelivered(f"{host} {why}") from None
        except UnicodeError:  # a host name that no name server could know
            raise NotDelivered(f"{host} cannot be reached: its name is none") from None


def shortened(text: str) -> str:
    """One line of text that others have written, short enough for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"


def _text(answer: http.client.HTTPResponse | urllib.error.HTTPError) -> str:
    """What has come. The status has said already whether the notice was accepted."""
    try:
        return answer.read(_MOST_BYTES).decode("utf-8", "replace")
    except http.client.IncompleteRead as error:
        return error.partial.decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _late(timeout_s: float) -> str:
    return f"did not answer within {timeout_s:g} s"


def _why(error: Exception, timeout_s: float) -> str:
    found = getattr(error, "reason", error)
    if isinstance(found, TimeoutError):
        return _late(timeout_s)
    if isinstance(found, ConnectionRefusedError):
        return "refused the connection"
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"has a certificate that cannot be trusted: {found.verify_message}"
    if isinstance(found, OSError) and found.strerror:
        return f"cannot be reached: {found.strerror}"
    return f"does not answer as a web server: {type(found).__name__}"
