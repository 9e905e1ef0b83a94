"""`/healthz`, `/readyz` and `/metrics`, for the kubelet and for Prometheus. They are answered by a thread of their own,
so that a busy event loop is not taken for a dead one."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from muster.domain.errors import Invalid
from muster.operator.control.metrics import Metrics

Probe = Callable[[], bool]
App = Callable[[dict[str, Any], Any], Iterable[bytes]]
_OFF = ("", "0")
_BEAT_S, _MISSED_S = 5.0, 120.0


class Heartbeat:
    """Tells whether the event loop still turns."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._last < _MISSED_S

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            task.cancel()

    async def _beat(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(_BEAT_S)


@contextmanager
def endpoints(
    metrics: Metrics, is_healthy: Probe, is_ready: Probe, *, metrics_at: str, health_at: str
) -> Iterator[None]:
    """Serve while the block runs. An address is `host:port` or `:port`; `0` switches an endpoint off."""
    probes = {"/healthz": is_healthy, "/readyz": is_ready}
    exposition: App = make_wsgi_app(metrics.registry)
    with ExitStack() as stack:
        if metrics_at not in _OFF:
            stack.enter_context(_serving(metrics_at, _only("/metrics", exposition)))
        if health_at not in _OFF:
            stack.enter_context(_serving(health_at, _probing(probes)))
        yield


def _only(path: str, app: App) -> App:
    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == path:
            return app(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"not found\n"]

    return answer


def _probing(probes: Mapping[str, Probe]) -> App:
    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        probe = probes.get(environ["PATH_INFO"])
        status = "404 Not Found" if probe is None else "200 OK" if probe() else "503 Service Unavailable"
        start_response(status, [("Content-Type", "text/plain")])
        return [f"{'ok' if status == '200 OK' else status}\n".encode()]

    return answer


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


class _Server6(WSGIServer):
    address_family = socket.AF_INET6


@contextmanager
def _serving(address: str, app: App) -> Iterator[None]:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        server = make_server(host or "0.0.0.0", int(port), app, _Server6 if ":" in host else WSGIServer, _Quiet)  # noqa: S104
    except (OSError, ValueError, OverflowError) as error:
        raise Invalid(f"cannot listen on {address!r}: {error}", hint="0 switches the endpoint off") from error
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
