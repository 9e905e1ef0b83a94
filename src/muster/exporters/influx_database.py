"""An InfluxDB 1.x over HTTP: make the database, write lines. Blocks; never called on the event loop.

The account travels in a header, so that it is in no address, no log and no error.
"""

import base64
import http.client
import json
import urllib.error
import urllib.request
from urllib.parse import urlencode

from muster.settings.influx import InfluxSettings

_TIMEOUT_S = 10.0
_SAID_AT_MOST = 300


class InfluxAway(Exception):
    """It does not answer, or not now: the same points may be sent later."""


class AccountRefused(InfluxAway):
    """It answers, but not to this account; an admin may still let it in."""


class PointsRefused(Exception):
    """These points will never be taken."""


class DatabaseMissing(Exception):
    """It answers, and has no such database."""


class InfluxDatabase:
    def __init__(self, settings: InfluxSettings, password: str) -> None:
        self._url = settings.url
        self._name = settings.database
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        if settings.user:
            account = base64.b64encode(f"{settings.user}:{password}".encode()).decode("ascii")
            self._headers["Authorization"] = f"Basic {account}"
        # Its own opener: a proxy of the environment is for the web, not for the machine beside us.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def create(self) -> None:
        """Once more does no harm. Raises AccountRefused when the account may not."""
        quoted = self._name.replace("\\", "\\\\").replace('"', '\\"')
        query = urlencode({"q": f'CREATE DATABASE "{quoted}"'}).encode()
        self._send("/query", query, "application/x-www-form-urlencoded")

    def write(self, body: bytes) -> None:
        arguments = urlencode({"db": self._name, "precision": "ms"})
        self._send(f"/write?{arguments}", body, self._headers["Content-Type"])

    def _send(self, path: str, body: bytes, kind: str) -> None:
        headers = {**self._headers, "Content-Type": kind}
        request = urllib.request.Request(self._url + path, body, headers, method="POST")  # noqa: S310 - http(s), checked
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            raise _refusal(error.code, _said(error)) from None
        except (OSError, http.client.HTTPException) as error:
            raise InfluxAway(f"does not answer: {getattr(error, 'reason', None) or error}") from None


def _refusal(status: int, said: str) -> Exception:
    if status == 404:
        return DatabaseMissing(said)
    if status in (401, 403):
        return AccountRefused(f"refuses the account: {said}")
    if status == 429 or status >= 500:
        return InfluxAway(f"answers {status}: {said}")
    return PointsRefused(f"answers {status}: {said}")


def _said(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(4096).decode("utf-8", "replace")
        return str(json.loads(text)["error"])[:_SAID_AT_MOST]
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return error.reason or "no reason given"
