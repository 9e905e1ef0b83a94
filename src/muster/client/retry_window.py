"""Limits how long a transfer waits for a server or a node that is temporarily unreachable."""

import time

from muster.client.errors import UNREACHABLE, MusterError
from muster.lib.backoff import exponential

TRIES = 8
"""The pauses between retries without any progress, about 20 seconds in all."""
_FOR_NOW = (429, 503)
_LONGEST_WAIT_S = 15.0


class Patience:
    def __init__(self) -> None:
        self._futile = 0

    def restore(self) -> None:
        """Starts again with all retries, because the transfer has made progress."""
        self._futile = 0

    def wait(self, error: MusterError) -> None:
        """Waits before the next retry. Raises the error if a retry cannot help, or if none is left."""
        self._futile += 1
        if self._futile > TRIES or (error.status not in _FOR_NOW and error.code != UNREACHABLE):
            raise error
        pause_s = exponential(self._futile, first_s=0.2, limit_s=5.0)
        time.sleep(min(max(pause_s, error.retry_after_s or 0.0), _LONGEST_WAIT_S))
