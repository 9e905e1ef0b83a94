"""HTTP to one server, or to one of several, with a persistent connection per thread, timeouts on everything, and safe
retries.

It knows requests and answers, but not jobs. A request that must not be repeated gets a new connection, so that it never
fails on one that the server has silently closed.
"""

import http.client
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self
from urllib.parse import quote, urlencode

from muster.client.certificates import connection_to, speaks_tls
from muster.client.contexts import Context
from muster.client.errors import (
    BAD_ANSWER,
    TIMED_OUT,
    UNREACHABLE,
    MusterError,
    from_answer,
    needs_https,
    timed_out,
    unreachable,
)
from muster.client.receivers import LOOK_WITHIN_S, Receivers, Target, failure_words, look_at, parsed_address, targets_of
from muster.lib.backoff import exponential
from muster.version import __version__

API = "/api/v1"
QueryValue = str | int | float | bool | None | Iterable[str]
Query = Mapping[str, QueryValue]

_DROPPED = (ConnectionError, http.client.BadStatusLine, http.client.IncompleteRead, http.client.CannotSendRequest)
_TRIES = 4
_SWITCHING = 101
_REDIRECTED = 300
_MAY_PASS = (429, 502, 503, 504)
_WARNING = "Muster-Warning"
_RETRY_AFTER = "Retry-After"
_LONGEST_WAIT_S = 15.0
_TRIES_OF_SEVERAL = 2
_TURNS = 8
"""How often a request goes to one of several servers on one store before it is given up."""
_SHORT_TURNS = 3
_SHORT_ANSWER_S = 10.0
"""How long the first turns wait for an answer: a server that is paused takes connections and never answers."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. `connect_s` is short, because a running server accepts connections at once."""

    connect_s: float = 5.0
    answer_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """`repeatable` says that sending the request twice has the same effect as sending it once. `only_at` is the address
    of the only one of several servers that may get it."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    answer_s: float | None = None
    only_at: str = ""

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
        several: Sequence[Target] = (),
    ) -> None:
        self.timeouts = timeouts or Timeouts()
        self.on_warning: Callable[[str], None] = _warn
        self.on_notice: Callable[[str], None] = lambda _: None
        self._locate = locate
        self._single = Target(parsed_address(server), token, fingerprint)
        self._kept = threading.local()
        self._sleep = sleep
        self._receivers: Receivers | None = None
        if len(several) > 1:
            look = partial(
                look_at, connect_s=self.timeouts.connect_s, answer_s=min(self.timeouts.answer_s, LOOK_WITHIN_S)
            )
            self._receivers = Receivers(several, self._tell, sleep, look)

    @classmethod
    def to(cls, context: Context, timeouts: Timeouts | None, locate: Callable[[], Context] | None) -> Self:
        """Makes a transport to the servers of a context."""
        return cls(context.server, context.token, timeouts, locate, context.fingerprint, several=targets_of(context))

    @property
    def server(self) -> str:
        """The address of the server in use, or of the first one as long as none was needed."""
        return self._target.shown

    @property
    def token(self) -> str | None:
        return self._target.token

    @token.setter
    def token(self, token: str | None) -> None:
        self._change(replace(self._target, token=token))

    @property
    def fingerprint(self) -> str | None:
        return self._target.fingerprint

    @fingerprint.setter
    def fingerprint(self, fingerprint: str | None) -> None:
        self._change(replace(self._target, fingerprint=fingerprint))

    @property
    def last_server(self) -> str:
        """The address to which this thread sent its last request."""
        return self._here.shown

    @property
    def _target(self) -> Target:
        return self._single if self._receivers is None else self._receivers.in_use()

    @property
    def _here(self) -> Target:
        return getattr(self._kept, "target", None) or self._target

    def _change(self, target: Target) -> None:
        if self._receivers is None:
            self._single = target
        else:
            self._receivers.change(target)

    def _tell(self, text: str) -> None:
        self.on_notice(text)

    def _reachable(self) -> Target:
        """The server to which the next request goes. Of several, one that is alive."""
        return self._single if self._receivers is None else self._receivers.chosen()

    def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def relocate(self) -> None:
        """Goes on with the address that the context has now, together with the token for it, if it has changed; of
        several servers, with another one on the same store if this one does not answer."""
        if self._receivers is not None:
            target = self._receivers.in_use()
            if not self._receivers.is_alive(target):
                self._receivers.move_from(target, "the connection is lost")
            return
        try:
            found = self._locate() if self._locate is not None else None
            address = None if found is None else parsed_address(found.server)
        except MusterError:
            return  # the context is gone or cannot be read: the server may still come back where it was
        if found is not None and address is not None and Target(address).shown != self.server:
            self._single = Target(address, found.token, found.fingerprint)

    def move_on(self, why: MusterError) -> bool:
        """Goes on at another of several servers than this thread has asked, whatever its store is. Only for work that
        begins anew there."""
        return self._receivers is not None and self._receivers.move_from(
            self._here, why.reason or why.message, to_any_store=True
        )

    def json(self, request: Request) -> Any:
        """Returns the JSON of the answer, or None if it is empty. Raises MusterError if the request fails."""
        answer = self.send(request)
        status, body = answer.status, answer.body
        if status >= _REDIRECTED:
            raise self._unsure(answer.error())
        if not body:
            return None
        try:
            return json.loads(body)
        except ValueError as error:
            unreadable = MusterError(
                f"the answer of {self.server} is not JSON",
                code=BAD_ANSWER,
                status=status,
                hint="check that the address is a Muster server, and not a proxy in front of it",
            )
            unreadable.is_unsure = True
            raise self._unsure(unreadable) from error

    def send(self, request: Request) -> "Answer":
        """Sends the request and returns the answer. Retries it if that is safe: after a dropped connection, a 503 or a
        proxy's answer that it got none if it may be repeated, and after a 429 always, because then the server has done
        nothing. A server that wants the client to wait for longer than a person would is not asked again. Of several
        servers on one store, the next one is asked then."""
        self._kept.is_unsure = False
        first = target = self._reachable()
        if self._receivers is None:
            return self._send_here(request, target, _TRIES)
        if request.only_at not in ("", target.shown):
            raise MusterError(f"{request.only_at} is not in use any more", code=UNREACHABLE)
        for turn in range(_TURNS):
            peers = self._receivers.has_peers(target)
            is_last = turn + 1 == _TURNS or not peers
            is_short = request.answer_s is None and request.repeatable and not is_last and turn < _SHORT_TURNS
            sent = replace(request, answer_s=min(_SHORT_ANSWER_S, self.timeouts.answer_s)) if is_short else request
            try:
                answer = self._send_here(sent, target, _TRIES_OF_SEVERAL if peers else _TRIES)
            except MusterError as error:
                if error.code not in (UNREACHABLE, TIMED_OUT) or (error.is_unsure and not request.repeatable):
                    raise
                failure, why = error, error.reason or error.message
                if is_last and peers:
                    raise self._receivers.gave_up(target, why, failure) from error
                if is_last:
                    raise
            else:
                if answer.status < 500 or is_last or not request.repeatable:
                    return answer
                failure = self._unsure(answer.error())
                if not (failure.is_for_now or failure.is_of_proxy):
                    return answer  # what is behind the server fails, which is the same behind the others
                why = failure.message
            if not self._receivers.move_from(target, why):
                self._sleep(exponential(turn + 1, first_s=0.2, limit_s=3.0))
            target = self._receivers.chosen()
            if not self._receivers.are_one(first, target):
                raise failure  # another thread has gone to a store that knows nothing of this request
        raise AssertionError("the last turn returns or raises")

    def _send_here(self, request: Request, target: Target, most: int) -> "Answer":
        for tries in range(1, most + 1):
            last = tries == most
            pause_s = exponential(tries, first_s=0.1, limit_s=2.0)
            try:
                answer = self._once(request, target)
            except _DROPPED as error:
                self.close()
                if last or not request.repeatable or isinstance(error, ConnectionRefusedError):
                    raise self._unsure(self.lost(error)) from error
            except MusterError as error:
                raise self._unsure(error) from error.__cause__
            else:
                if last or answer.status not in _MAY_PASS or not (request.repeatable or answer.status == 429):
                    return answer
                refusal = answer.error()
                self._kept.is_unsure |= refusal.is_unsure
                if not (refusal.is_for_now or refusal.is_of_proxy) or (refusal.retry_after_s or 0.0) > _LONGEST_WAIT_S:
                    return answer
                pause_s = max(pause_s, refusal.retry_after_s or 0.0)
            self._sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def _unsure(self, error: MusterError) -> MusterError:
        """Notes in the error whether any try of the request may have arrived."""
        error.is_unsure = error.is_unsure or self._kept.is_unsure
        return error

    def lost(self, error: Exception) -> MusterError:
        """What to tell a person after a connection error. A server that speaks only TLS drops a plain request."""
        address = self._here.address
        is_plain = address.scheme == "http" and not isinstance(error, ConnectionRefusedError)
        if is_plain and speaks_tls(address, self.timeouts.connect_s):
            return needs_https(self.last_server, Target(address._replace(scheme="https")).shown)
        return unreachable(self.last_server, failure_words(error))

    def open(self, request: Request) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends the request on a separate connection. The caller reads the body of the answer and closes it.

        Connection errors are not converted (OSError, HTTPException), because the reader of a stream can resume it.
        """
        target = self._reachable()
        connection = self._connect(target)
        try:
            self._put(connection, target, request)
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

    def _once(self, request: Request, target: Target) -> "Answer":
        if not request.repeatable:
            self.close()
        answer_s = request.answer_s or self.timeouts.answer_s
        was_unsure = self._kept.is_unsure
        try:
            connection = self._connection(target)
            self._kept.is_unsure = True
            self._put(connection, target, request)
            response = connection.getresponse()
            body = response.read()
        except TimeoutError as error:
            self.close()
            raise timed_out(self.last_server, answer_s) from error
        except _DROPPED:
            raise
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise unreachable(self.last_server, failure_words(error)) from error
        self._kept.is_unsure = was_unsure
        if response.will_close:
            self.close()
        for header in response.headers.get_all(_WARNING, ()):
            self.on_warning(_unquoted(header))
        return Answer(response.status, body, response.headers.get(_RETRY_AFTER))

    def _connection(self, target: Target) -> http.client.HTTPConnection:
        """The connection of this thread. One to another server is closed, so that its token goes nowhere else."""
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is not None and self._kept.target != target:
            self.close()
            kept = None
        if kept is None:
            self._kept.target = target
            kept = self._kept.connection = self._connect(target)
        return kept

    def _connect(self, target: Target) -> http.client.HTTPConnection:
        connection = connection_to(target.address, self.timeouts.connect_s, target.fingerprint)
        try:
            connection.connect()
        except TimeoutError as error:
            raise unreachable(target.shown, "the connection attempt timed out") from error
        return connection

    def _put(self, connection: http.client.HTTPConnection, target: Target, request: Request) -> None:
        if connection.sock is None:  # closed by an earlier `Connection: close`
            connection.connect()
        connection.sock.settimeout(request.answer_s or self.timeouts.answer_s)
        headers = {"Accept": "application/json", "User-Agent": f"muster/{__version__}", **request.headers}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        connection.request(request.method, target.address.path.rstrip("/") + request.target, request.body, headers)


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
