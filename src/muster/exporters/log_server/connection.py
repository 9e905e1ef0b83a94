"""A connection to a log server. It blocks, so it runs on a thread, one call at a time.

The token is sent in a header, so that it appears in no address, log or error.
"""

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from muster.domain.log_records import LogRecord
from muster.settings.log_server import LogServerSettings

_TIMEOUT_S = 15.0
_LONGEST_ANSWER_BYTES = 64 << 20
_NAME = "muster-logserver"


class LogServerAway(Exception):
    """It does not answer, or cannot store anything now: the same may be sent again later."""


class TokenRefused(LogServerAway):
    """The same token will never do."""


class RecordsRefused(Exception):
    """It will never take these records."""


class QueryRefused(Exception):
    """It does not understand what was asked."""


@dataclass(frozen=True, slots=True)
class Taken:
    conflicts: int


class LogServerConnection:
    """`within_s` is for a connection, and for each piece of an answer."""

    def __init__(self, settings: LogServerSettings, token: str, within_s: float = _TIMEOUT_S) -> None:
        self._within_s = within_s
        self._parts = urlsplit(settings.url)
        self._token = token
        self._ca_file = None if settings.ca_file is None else str(settings.ca_file.expanduser())
        self._connection: http.client.HTTPConnection | None = None

    def check(self) -> None:
        """Raises LogServerAway if the address is not that of a log server, or the token is wrong."""
        status, answer = self._call("GET", "/v1/status")
        if status != 200 or answer.get("name") != _NAME:
            raise LogServerAway(f"answers {status}, but not as a log server of Muster does")

    def send(self, records: Sequence[LogRecord]) -> Taken:
        body = b'{"records":[' + b",".join(map(_numbered, records)) + b"]}"
        status, answer = self._call("POST", "/v1/records", body)
        if status in (400, 413):
            raise RecordsRefused(_words(answer, status))
        if status != 200 or "stored" not in answer:
            raise LogServerAway(_words(answer, status))
        return Taken(int(answer.get("conflicts") or 0))

    def jobs(self, where: Mapping[str, str]) -> dict[str, Any]:
        status, answer = self._call("GET", f"/v1/jobs?{urlencode(where)}")
        if status == 400:
            raise QueryRefused(str(answer.get("detail") or ""))
        return _good(status, answer)

    def job(self, receiver: str, job_id: str) -> dict[str, Any] | None:
        status, answer = self._call("GET", f"/v1/jobs/{quote(receiver, safe='')}/{quote(job_id, safe='')}")
        return None if status == 404 else _good(status, answer)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, Any]]:
        """A kept connection may have been closed meanwhile, so that the first failure on one is not counted."""
        is_kept = self._connection is not None
        try:
            status, data = self._exchange(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if is_kept:
                return self._call(method, path, body)
            raise LogServerAway(f"does not answer: {_why(error)}") from None
        if status in (401, 403):
            raise TokenRefused("refuses the token")
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise LogServerAway(f"answers {status}, but not as a log server of Muster does")
        return status, answer

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._opened()
        headers = {"Content-Type": "application/json", "User-Agent": "muster"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        self._connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
        answer = self._connection.getresponse()
        data = answer.read(_LONGEST_ANSWER_BYTES)
        if not answer.isclosed():
            self.close()
        return answer.status, data

    def _opened(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            trusted = ssl.create_default_context(cafile=self._ca_file)
            return http.client.HTTPSConnection(host, port, timeout=self._within_s, context=trusted)
        return http.client.HTTPConnection(host, port, timeout=self._within_s)


def _numbered(record: LogRecord) -> bytes:
    """The body is an object that has at least a kind, so that it can be continued after its brace."""
    return f'{{"receiver":{json.dumps(record.receiver)},"seq":{record.seq},'.encode() + record.body[1:].encode()


def _good(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    if status != 200:
        raise LogServerAway(_words(answer, status))
    return answer


def _words(answer: Mapping[str, Any], status: int) -> str:
    problems = "; ".join(f"{one.get('path')}: {one.get('message')}" for one in answer.get("problems") or ())
    said = str(answer.get("detail") or "no reason given")[:300]
    return f"answers {status}: {said}" + (f" ({problems[:300]})" if problems else "")


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
