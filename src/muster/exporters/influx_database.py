"""Client for InfluxDB 1.x over HTTP that creates a database and writes lines. It blocks, so it runs on a thread.

The account is sent in a header, so that it appears in no address, log or error.
"""

import base64
import http.client
import json
import urllib.error
import urllib.request
from urllib.parse import urlencode

from muster.lib.deadlines import Deadline, guarded_opener
from muster.lib.redirects import NoRedirects
from muster.settings.influx import InfluxSettings

_TIMEOUT_S = 10.0
_MAX_ERROR_LENGTH = 300


class InfluxUnavailable(Exception):
    """The database does not respond at the moment: the same points may be sent later."""


class AccountRefused(InfluxUnavailable):
    """The database refuses the account, which an admin can change."""


class PointsRefused(Exception):
    """The database will never accept these points."""


class DatabaseMissing(Exception):
    """The server responds, but the database does not exist."""


class InfluxDatabase:
    def __init__(self, settings: InfluxSettings, password: str) -> None:
        self._url = settings.url
        self._name = settings.database
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        if settings.user:
            account = base64.b64encode(f"{settings.user}:{password}".encode()).decode("ascii")
            self._headers["Authorization"] = f"Basic {account}"

    def create(self) -> None:
        """Create the database if it does not exist. Raises AccountRefused if the account may not do so."""
        quoted = self._name.replace("\\", "\\\\").replace('"', '\\"')
        query = urlencode({"q": f'CREATE DATABASE "{quoted}"'}).encode()
        self._send("/query", query, "application/x-www-form-urlencoded")

    def write(self, body: bytes) -> None:
        arguments = urlencode({"db": self._name, "precision": "ms"})
        self._send(f"/write?{arguments}", body, self._headers["Content-Type"])

    def _send(self, path: str, body: bytes, kind: str) -> None:
        headers = {**self._headers, "Content-Type": kind}
        request = urllib.request.Request(self._url + path, body, headers, method="POST")  # noqa: S310 - http(s), checked
        with Deadline(_TIMEOUT_S) as deadline:
            # Proxies of the environment are left out, because the database is usually in the local network.
            opener = guarded_opener(deadline, urllib.request.ProxyHandler({}), NoRedirects())
            try:
                with opener.open(request, timeout=_TIMEOUT_S) as answer:
                    answer.read(1)
            except urllib.error.HTTPError as error:
                with error:
                    raise _refusal(error.code, _error_text(error)) from None
            except (OSError, http.client.HTTPException) as error:
                why = (
                    f"no answer within {_TIMEOUT_S:g} s"
                    if deadline.is_over
                    else getattr(error, "reason", None) or error
                )
                raise InfluxUnavailable(f"does not respond: {why}") from None
            except UnicodeError:  # a host name that no name server could know
                raise InfluxUnavailable("cannot be reached: the name of its host is none") from None


def _refusal(status: int, text: str) -> Exception:
    if status == 404:
        return DatabaseMissing(text)
    if status in (401, 403):
        return AccountRefused(f"refuses the account: {text}")
    if status < 400:
        return InfluxUnavailable(f"answers {status}: it is at another address")
    if status == 429 or status >= 500:
        return InfluxUnavailable(f"answers {status}: {text}")
    return PointsRefused(f"answers {status}: {text}")


def _error_text(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(4096).decode("utf-8", "replace")
        return str(json.loads(text)["error"])[:_MAX_ERROR_LENGTH]
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return error.reason or "no reason given"
