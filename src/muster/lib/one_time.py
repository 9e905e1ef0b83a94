"""Values that are found by a secret, once and for a short time. Only the digests of the secrets are kept."""

import hashlib
from collections import OrderedDict
from typing import Generic, TypeVar

from muster.lib.clock import Clock
from muster.lib.ids import new_secret

T = TypeVar("T")
MOST = 10_000
MOST_OF_ONE = 100


class OneTime(Generic[T]):
    """Only so many values are kept, in all and of one holder. The oldest of the same holder make way, so that nobody
    can push out what belongs to others, until there are too many holders."""

    def __init__(self, clock: Clock, lifetime_s: float, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._most = most
        self._most_of_one = most_of_one
        self._kept: OrderedDict[bytes, tuple[str, T, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, value: T, holder: str, lifetime_s: float | None = None) -> str:
        self._make_room(holder)
        secret = new_secret()
        self._kept[_digest(secret)] = holder, value, self._clock() + (lifetime_s or self._lifetime_s)
        return secret

    def look(self, secret: str) -> T | None:
        _, value, expires_at = self._kept.get(_digest(secret), ("", None, 0.0))
        return value if expires_at > self._clock() else None

    def take(self, secret: str) -> T | None:
        """Returns the value and forgets it."""
        value = self.look(secret)
        self._kept.pop(_digest(secret), None)
        return value

    def _make_room(self, holder: str) -> None:
        now = self._clock()
        for digest in [digest for digest, (_, _, expires_at) in self._kept.items() if expires_at <= now]:
            del self._kept[digest]
        own = [digest for digest, (whose, _, _) in self._kept.items() if whose == holder]
        for digest in own[: max(0, len(own) - self._most_of_one + 1)]:
            del self._kept[digest]
        while len(self._kept) >= self._most:
            self._kept.popitem(last=False)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
