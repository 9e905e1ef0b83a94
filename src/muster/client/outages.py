"""Waits for a server that went away, and looks up its address again, because it may come back on another port."""

import time
from collections.abc import Callable

from muster.client.errors import unreachable
from muster.client.transport import Transport
from muster.lib.backoff import exponential
from muster.lib.counting import counted

PATIENCE_S = 120.0  # a server being restarted does not end a wait


class Outage:
    """The time for which the server has not answered. The first retry is silent; the next one is announced."""

    def __init__(
        self,
        transport: Transport,
        *,
        patience_s: float = PATIENCE_S,
        longest_pause_s: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.failures = 0
        self._transport = transport
        self._patience_s = patience_s
        self._longest_pause_s = longest_pause_s
        self._sleep = sleep
        self._began_at: float | None = None
        self._is_announced = False

    def pause(self, why: Exception) -> None:
        """Waits before the next retry. Raises MusterError if the server has been away for too long."""
        now = time.monotonic()
        if self._began_at is None:
            self._began_at = now
        elif now - self._began_at > self._patience_s:
            raise unreachable(self._transport.server, f"no connection for {self._patience_s:.0f} s: {why}") from why
        elif not self._is_announced:
            self._is_announced = True
            minutes = self._patience_s / 60
            server = self._transport.server
            self._transport.on_notice(
                f"the connection to {server} is lost; retrying for up to {counted(minutes, 'minute')}"
            )
        self.failures += 1
        self._sleep(exponential(self.failures, first_s=0.1, limit_s=self._longest_pause_s))
        self._transport.relocate()

    def end(self) -> None:
        """Notes that the server accepted a connection. The pauses stay long until `progress`."""
        self._began_at = None
        if self._is_announced:
            self._is_announced = False
            self._transport.on_notice(f"connected again, to {self._transport.server}")

    def progress(self) -> None:
        """Starts again with short pauses, because the server has sent something."""
        self.failures = 0
