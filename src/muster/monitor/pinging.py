"""Calls an address after each round, whose owner tells somebody if the calls stop: nobody watches the monitor else."""

import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from muster.lib.deadlines import Deadline, guarded_opener
from muster.version import __version__


class NotPinged(Exception):
    """The message names the host and not the address, which may be a secret."""


@dataclass(frozen=True, slots=True)
class Ping:
    address: str = field(repr=False)
    timeout_s: float

    def __call__(self) -> None:
        """Blocks for the timeout at most, but for the look-up of a name. Raises NotPinged."""
        host = urlsplit(self.address).hostname
        request = urllib.request.Request(self.address, headers={"User-Agent": f"muster-monitor/{__version__}"})  # noqa: S310 - http(s), checked when it was read
        with Deadline(self.timeout_s) as deadline:
            try:
                guarded_opener(deadline).open(request, timeout=self.timeout_s).close()
            except urllib.error.HTTPError as error:
                with error:
                    raise NotPinged(f"{host} answered {error.code}") from None
            except (OSError, http.client.HTTPException) as error:
                reason = "it did not answer in time" if deadline.is_over else _reason(error)
                raise NotPinged(f"{host} cannot be reached: {reason}") from None
            except UnicodeError:  # a host name that no name server could know
                raise NotPinged(f"{host} cannot be reached: its name is none") from None


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or str(reason)
