"""Calls an address after each round, whose owner tells somebody if the calls stop: nobody watches the monitor else."""

import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from muster.version import __version__


class NotPinged(Exception):
    """The message names the host and not the address, which may be a secret."""


@dataclass(frozen=True, slots=True)
class Ping:
    address: str = field(repr=False)
    timeout_s: float

    def __call__(self) -> None:
        """Blocks. Raises NotPinged."""
        host = urlsplit(self.address).hostname
        request = urllib.request.Request(self.address, headers={"User-Agent": f"muster-monitor/{__version__}"})  # noqa: S310 - http(s), checked when it was read
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310
                answer.read(1024)
        except urllib.error.HTTPError as error:
            with error:
                raise NotPinged(f"{host} answered {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise NotPinged(f"{host} cannot be reached: {getattr(reason, 'strerror', None) or reason}") from None
