"""The listening socket of the server, and the announcement of its address."""

import errno
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType

import structlog
import uvicorn

from muster.domain.errors import Invalid
from muster.domain.limits import Limits

_log = structlog.get_logger("server")
_RESERVED_DESCRIPTORS = 256
_HINTS = """  Run a first job     muster run -- echo hello
  Open the web page   {page}
  Stop the server     press Ctrl-C; running jobs continue, and the next start finds them again
"""


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        is_about_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another --port; 0 finds a free one" if is_about_port else "--host is an address of this machine"
        raise Invalid(f"cannot listen on {host}:{port}: {error.strerror}", hint=hint) from None
    listener.listen(1024)
    return listener


def within_descriptors(limits: Limits, allowed: int | None = None) -> Limits:
    """Returns the limits with so many connections at most that descriptors are left for the database, for files and for
    the connections to nodes. `allowed` is the number of files that the process may open."""
    if allowed is None:
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if allowed == resource.RLIM_INFINITY:
            return limits
    connections = max(allowed - max(_RESERVED_DESCRIPTORS, allowed // 4), 16)
    if connections >= limits.connections:
        return limits
    _log.warning("fewer connections than limits.connections: the process may open too few files", allowed=allowed)
    return replace(limits, connections=connections)


def shown_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


class AnnouncingServer(uvicorn.Server):
    """Prints its address as soon as it accepts requests. A signal ends it and is kept in `signals`: unlike its base
    class it does not raise the signal again, because other parts have to be closed first."""

    def __init__(
        self,
        config: uvicorn.Config,
        url: str,
        fingerprint: str | None,
        on_signal: Callable[[int], None],
        login_link: Callable[[], str | None],
    ) -> None:
        super().__init__(config)
        self._on_signal = on_signal
        self._login_link = login_link
        self._url = url
        self._fingerprint = fingerprint

    @property
    def signals(self) -> Sequence[signal.Signals]:
        return [signal.Signals(number) for number in self._captured_signals]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._on_signal(sig)

    def leave(self) -> None:
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            await self._serve(sockets)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            pinned = f"Its certificate is {self._fingerprint}\n" if self._fingerprint else ""
            sys.stdout.write(f"Muster is at {self._url}\n{pinned}" + (self._hints() if sys.stdout.isatty() else ""))
            sys.stdout.flush()
            _log.info("serving", url=self._url)

    def _hints(self) -> str:
        """The link logs in whoever opens it, so that it is shown at a terminal only, and never in a log."""
        link = self._login_link()
        opening = f"{link}\n{' ' * 22}(logs you in once, within minutes; `muster open` prints another)" if link else ""
        return _HINTS.format(page=opening or "go to that address; `muster open` prints a link that logs you in")
