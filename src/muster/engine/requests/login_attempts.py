"""Slows down whoever guesses passwords: the address that they come from, never the user whose password they guess."""

import ipaddress
from collections import OrderedDict
from collections.abc import Hashable

from muster.domain.errors import TooMany
from muster.lib.clock import Clock

WINDOW_S = 60.0
FOR_ONE_USER = 5
"""Failures that an address may have with one user within the window."""
IN_ALL = 20
MAX_KEYS = 20_000


class LoginAttempts:
    """The times of attempts, by address, and by address and user. Only so many are kept: the oldest are forgotten."""

    def __init__(self, clock: Clock, max_keys: int = MAX_KEYS) -> None:
        self._clock = clock
        self._max_keys = max_keys
        self._times: OrderedDict[Hashable, list[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def count(self, address: str, user: str) -> float:
        """Count an attempt before its password is checked, so that attempts sent all at once are limited too. Returns
        its time. Raises TooMany if the address has to wait."""
        now = self._clock()
        network = network_of(address)
        bounds = (((network, user), FOR_ONE_USER), (network, IN_ALL))
        recent = {key: [at for at in self._times.get(key, ()) if at > now - WINDOW_S] for key, _ in bounds}
        for key, most in bounds:
            if len(recent[key]) >= most:
                wait_s = recent[key][0] + WINDOW_S - now
                raise TooMany("too many failed logins", hint="wait a minute and try again", retry_after_s=wait_s)
        for key, times in recent.items():
            self._times[key] = [*times, now]
            self._times.move_to_end(key)
        while len(self._times) > self._max_keys:
            self._times.popitem(last=False)
        return now

    def succeeded(self, address: str, user: str, at: float) -> None:
        """Take an attempt back, because its password was right."""
        network = network_of(address)
        for key in ((network, user), network):
            left = [time for time in self._times.get(key, ()) if time != at]
            if left:
                self._times[key] = left
            else:
                self._times.pop(key, None)


def network_of(address: str) -> str:
    """An owner of an IPv6 network has 2^64 addresses of it, so they count as one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)
