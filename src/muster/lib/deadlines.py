"""Ends a conversation over the network when its time is over, whatever it waits for.

The timeout of a socket is that of one read: somebody who sends a byte now and then never exceeds it. Work on a thread
cannot be cancelled either, and would send a second time what its caller has given up and tries again.
"""

import http.client
import os
import socket
import threading
import urllib.request
from contextlib import suppress
from types import TracebackType
from typing import Any, Self


class Deadline:
    """Once it is over, the connection that it guards is shut down, and it guards no other."""

    def __init__(self, within_s: float) -> None:
        self._lock = threading.Lock()
        self._is_over = False
        self._connection: socket.socket | None = None
        self._timer = threading.Timer(within_s, self._end)
        self._timer.daemon = True

    @property
    def is_over(self) -> bool:
        return self._is_over

    def guard(self, connection: socket.socket | None) -> None:
        """To be called before anything is sent. Raises TimeoutError if the time is over, or if there is no connection
        any more. One that is encrypted later on is still guarded."""
        with self._lock:
            if self._is_over or connection is None:
                raise TimeoutError
            self._close()
            # A handle of its own: the socket module takes that of a connection away when it is encrypted.
            self._connection = socket.socket(fileno=os.dup(connection.fileno()))

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._timer.cancel()
        with self._lock:
            self._close()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def guarded_opener(deadline: Deadline, *handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """Opens web addresses by connections that the deadline guards."""
    return urllib.request.build_opener(_Plain(deadline), _Encrypted(deadline), *handlers)


class _Connection(http.client.HTTPConnection):
    deadline: Deadline

    def connect(self) -> None:
        super().connect()
        self.deadline.guard(self.sock)


class _EncryptedConnection(http.client.HTTPSConnection, _Connection):
    """It is guarded before it is encrypted: the parent calls its other parent first."""


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)

    def _connection(self, host: str, **more: Any) -> http.client.HTTPConnection:
        connection = _Connection(host, **more)
        connection.deadline = self._deadline
        return connection


class _Encrypted(urllib.request.HTTPSHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)

    def _connection(self, host: str, **more: Any) -> http.client.HTTPSConnection:
        connection = _EncryptedConnection(host, **more)
        connection.deadline = self._deadline
        return connection
