"""Single calls of a receiver within one deadline, without any retry: a check wants to know how it is now."""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from muster.client.certificates import connection_to, speaks_tls
from muster.client.errors import MusterError
from muster.monitor.outcomes import Reason, ReasonCode, Step
from muster.version import __version__

_MOST_BYTES = 8 << 20
_LEAST_S = 0.01


@dataclass(frozen=True, slots=True)
class Receiver:
    title: str
    url: str
    fingerprint: str | None = None
    token: str = field(default="", repr=False)

    @property
    def address(self) -> SplitResult:
        return urlsplit(self.url)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object of the answer; empty if it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class CallFailed(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason.code))
        self.reason = reason


class Calls:
    """Belongs to one thread, but for `abandon`. `step` is what goes on now."""

    def __init__(self, receiver: Receiver, within_s: float) -> None:
        self._receiver = receiver
        self._within_s = within_s
        self._deadline = time.monotonic() + within_s
        self._connection: http.client.HTTPConnection | None = None
        self.step = Step.CONNECT

    def call(self, step: Step, method: str, path: str, body: Any = None) -> Answer:
        """Raises CallFailed if there is no answer. Every status is an answer."""
        try:
            return self._call(step, method, path, body)
        except MusterError as error:
            raise self._failed(ReasonCode.CERTIFICATE, words=error.message) from None
        except UnicodeError:  # a host name that no name server could know
            raise self._failed(ReasonCode.UNKNOWN_HOST, host=self._receiver.address.hostname or "") from None
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from None

    def abandon(self) -> None:
        """Ends the call that goes on, from another thread. A receiver that sends one byte now and then would never
        exceed the time of a single read."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _call(self, step: Step, method: str, path: str, body: Any) -> Answer:
        receiver = self._receiver
        if self._connection is None:
            self._connection = connection_to(receiver.address, self._left_s(), receiver.fingerprint)
        connection = self._connection
        if connection.sock is None:
            self.step = Step.CONNECT
            connection.timeout = self._left_s()
            connection.connect()
        self.step = step
        connection.sock.settimeout(self._left_s())
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, receiver.address.path.rstrip("/") + path, data, self._headers(data is not None))
        response = connection.getresponse()
        answer = Answer(response.status, response.read(_MOST_BYTES))
        if response.will_close or not response.isclosed():
            connection.close()
        return answer

    def _headers(self, has_body: bool) -> Mapping[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"muster-monitor/{__version__}"}
        if has_body:
            headers["Content-Type"] = "application/json"
        if self._receiver.token:
            headers["Authorization"] = f"Bearer {self._receiver.token}"
        return headers

    def _left_s(self) -> float:
        left = self._deadline - time.monotonic()
        if left < _LEAST_S:
            raise TimeoutError
        return left

    def _lost(self, error: Exception) -> CallFailed:
        match error:
            case TimeoutError():
                return self._failed(ReasonCode.TIMED_OUT, seconds=f"{self._within_s:g}")
            case ConnectionRefusedError():
                return self._failed(ReasonCode.REFUSED)
            case socket.gaierror():
                return self._failed(ReasonCode.UNKNOWN_HOST, host=self._receiver.address.hostname or "")
            case ssl.SSLError():
                return self._failed(ReasonCode.CERTIFICATE, words=str(error.reason or error))
            case ConnectionError() | http.client.BadStatusLine() | http.client.IncompleteRead():
                return self._broken_off()
            case OSError():
                return self._failed(ReasonCode.UNREACHABLE, words=error.strerror or type(error).__name__)
        return self._failed(ReasonCode.NOT_MUSTER, words=type(error).__name__)

    def _broken_off(self) -> CallFailed:
        """A server that speaks only TLS breaks off a plain request."""
        left_s = self._deadline - time.monotonic()
        address = self._receiver.address
        if address.scheme == "http" and left_s > _LEAST_S and speaks_tls(address, left_s):
            return self._failed(ReasonCode.NEEDS_HTTPS, url=f"https://{address.netloc}")
        return self._failed(ReasonCode.BROKEN_OFF)

    def _failed(self, code: ReasonCode, **details: str) -> CallFailed:
        return CallFailed(Reason(code, self.step, details))
