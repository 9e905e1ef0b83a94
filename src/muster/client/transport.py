"""HTTP to one server, with a persistent connection per thread, timeouts on everything, and safe retries.

It knows requests and answers, but not jobs. A request that must not be repeated gets a new connection, so that it never
fails on one that the server has silently closed.
"""

import http.client
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from muster.client.certificates import connection_to, speaks_tls
from muster.client.contexts import Context
from muster.client.errors import BAD_ANSWER, BAD_INPUT, MusterError, from_answer, needs_https, timed_out, unreachable
from muster.lib.backoff import exponential
from muster.version import __version__

API = "/api/v1"
QueryValue = str | int | float | bool | None | Iterable[str]
Query = Mapping[str, QueryValue]

_DROPPED = (ConnectionError, http.client.BadStatusLine, http.client.IncompleteRead, http.client.CannotSendRequest)
_TRIES = 4
_SWITCHING = 101
_WARNING = "Muster-Warning"
_RETRY_AFTER = "Retry-After"
_LONGEST_WAIT_S = 15.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. `connect_s` is short, because a running server accepts connections at once."""

    connect_s: float = 5.0
    answer_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """`repeatable` says that sending the request twice has the same effect as sending it once."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    answer_s: float | None = None

    @property
    def target(self) -> str:
        pairs = list(_pairs(self.query))
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    retry_after: str | None = None

    def error(self) -> MusterError:
        return from_answer(self.status, self.body, self.retry_after)


def as_json(body: Any) -> tuple[bytes, dict[str, str]]:
    return json.dumps(body, ensure_ascii=False).encode(), {"Content-Type": "application/json"}


def segment(text: str) -> str:
    """The text as one path segment of a URL, with all special characters escaped."""
    return quote(text, safe="@")


def new_request_key() -> str:
    return os.urandom(16).hex()


class Transport:
    """`locate` returns the address and the token that are valid now. `on_notice` gets what a person who waits for an
    answer wants to know, such as a lost connection."""

    def __init__(
        self,
        server: str,
        token: str | None,
        timeouts: Timeouts | None = None,
        locate: Callable[[], Context] | None = None,
        fingerprint: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.token = token
        self.fingerprint = fingerprint
        self.timeouts = timeouts or Timeouts()
        self.on_warning: Callable[[str], None] = _warn
        self.on_notice: Callable[[str], None] = lambda _: None
        self._locate = locate
        self._address = parsed_address(server)
        self._kept = threading.local()
        self._sleep = sleep

    @property
    def server(self) -> str:
        return _shown(self._address)

    def relocate(self) -> None:
        """Goes on with the address that the context has now, together with the token for it, if it has changed."""
        try:
            found = self._locate() if self._locate is not None else None
            address = None if found is None else parsed_address(found.server)
        except MusterError:
            return  # the context is gone or cannot be read: the server may still come back where it was
        if found is not None and address is not None and _shown(address) != self.server:
            self._address, self.token, self.fingerprint = address, found.token, found.fingerprint

    def json(self, request: Request) -> Any:
        """Returns the JSON of the answer, or None if it is empty. Raises MusterError if the request fails."""
        answer = self.send(request)
        status, body = answer.status, answer.body
        if status >= 400:
            raise answer.error()
        if not body:
            return None
        try:
            return json.loads(body)
        except ValueError as error:
            raise MusterError(
                f"the answer of {self.server} is not JSON",
                code=BAD_ANSWER,
                status=status,
                hint="check that the address is a Muster server, and not a proxy in front of it",
            ) from error

    def send(self, request: Request) -> "Answer":
        """Sends the request and returns the answer. Retries it if that is safe: after a dropped connection or a 503 if
        it may be repeated, and after a 429 always, because then the server has done nothing. A server that wants the
        client to wait for longer than a person would is not asked again."""
        for tries in range(1, _TRIES + 1):
            last = tries == _TRIES
            pause_s = exponential(tries, first_s=0.1, limit_s=2.0)
            try:
                answer = self._once(request)
            except _DROPPED as error:
                self.close()
                if last or not request.repeatable or isinstance(error, ConnectionRefusedError):
                    raise self.lost(error) from error
            else:
                if last or answer.status not in (429, 503) or not (request.repeatable or answer.status == 429):
                    return answer
                refusal = answer.error()
                if not refusal.is_for_now or (refusal.retry_after_s or 0.0) > _LONGEST_WAIT_S:
                    return answer
                pause_s = max(pause_s, refusal.retry_after_s or 0.0)
            self._sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def lost(self, error: Exception) -> MusterError:
        """What to tell a person after a connection error. A server that speaks only TLS drops a plain request."""
        is_plain = self._address.scheme == "http" and not isinstance(error, ConnectionRefusedError)
        if is_plain and speaks_tls(self._address, self.timeouts.connect_s):
            return needs_https(self.server, _shown(self._address._replace(scheme="https")))
        return unreachable(self.server, _words(error))

    def open(self, request: Request) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends the request on a separate connection. The caller reads the body of the answer and closes it.

        Connection errors are not converted (OSError, HTTPException), because the reader of a stream can resume it.
        """
        connection = self._connect()
        try:
            self._put(connection, request)
            response = connection.getresponse()
            if response.status >= 400:
                raise from_answer(response.status, response.read(), response.headers.get(_RETRY_AFTER))
        except BaseException:
            connection.close()
            raise
        return connection, response

    def upgraded(self, request: Request, key: str) -> http.client.HTTPConnection:
        """Sends the request on a separate connection, which is a WebSocket from the answer on. Errors are as for
        `open`. The caller uses the connection's socket and closes the connection."""
        headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        headers["Sec-WebSocket-Key"] = key
        connection, response = self.open(replace(request, headers={**request.headers, **headers}))
        if response.status != _SWITCHING:
            connection.close()
            raise MusterError(
                f"{self.server} does not answer as a WebSocket",
                code=BAD_ANSWER,
                status=response.status,
                hint="a proxy in front of the server may have to be told to pass WebSockets on",
            )
        return connection

    @contextmanager
    def content(self, request: Request, offset: int = 0) -> Iterator[http.client.HTTPResponse]:
        """Requests the bytes from `offset` on, which the caller reads; errors are as for `open`. A server that does not
        support ranges answers with status 200 instead of 206."""
        ranges = {"Range": f"bytes={offset}-"} if offset else {}
        connection, response = self.open(replace(request, headers={"Accept": "*/*", **request.headers, **ranges}))
        try:
            yield response
        finally:
            response.close()
            connection.close()

    def close(self) -> None:
        """Closes the connection of this thread. The next request opens a new one."""
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is not None:
            kept.close()
            self._kept.connection = None

    def _once(self, request: Request) -> "Answer":
        if not request.repeatable:
            self.close()
        answer_s = request.answer_s or self.timeouts.answer_s
        try:
            connection = self._connection()
            self._put(connection, request)
            response = connection.getresponse()
            body = response.read()
        except TimeoutError as error:
            self.close()
            raise timed_out(self.server, answer_s) from error
        except _DROPPED:
            raise
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise unreachable(self.server, _words(error)) from error
        if response.will_close:
            self.close()
        for header in response.headers.get_all(_WARNING, ()):
            self.on_warning(_unquoted(header))
        return Answer(response.status, body, response.headers.get(_RETRY_AFTER))

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is None:
            kept = self._kept.connection = self._connect()
        return kept

    def _connect(self) -> http.client.HTTPConnection:
        connection = connection_to(self._address, self.timeouts.connect_s, self.fingerprint)
        try:
            connection.connect()
        except TimeoutError as error:
            raise unreachable(self.server, "the connection attempt timed out") from error
        return connection

    def _put(self, connection: http.client.HTTPConnection, request: Request) -> None:
        if connection.sock is None:  # closed by an earlier `Connection: close`
            connection.connect()
        connection.sock.settimeout(request.answer_s or self.timeouts.answer_s)
        headers = {"Accept": "application/json", "User-Agent": f"muster/{__version__}", **request.headers}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection.request(request.method, self._address.path.rstrip("/") + request.target, request.body, headers)


def parsed_address(server: str) -> SplitResult:
    address = urlsplit(server if "://" in server else f"http://{server}")
    if address.scheme not in ("http", "https") or not address.hostname:
        raise MusterError(
            f"{server!r} is not a server address",
            code=BAD_INPUT,
            hint="an address looks like http://127.0.0.1:7070",
        )
    return address


def _shown(address: SplitResult) -> str:
    return f"{address.scheme}://{address.netloc}{address.path}".rstrip("/")


def _pairs(query: Query) -> Iterable[tuple[str, str]]:
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, str | int | float):
            yield name, str(value)
        else:
            for item in value:
                yield name, item


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=2)


def _unquoted(header: str) -> str:
    try:
        return str(json.loads(header))
    except ValueError:
        return header


def _words(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
