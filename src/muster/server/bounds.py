"""Counts what callers have open at once, and refuses what is over a bound: 429 over the caller's own, 503 over that of
everybody."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from muster.domain.errors import MusterError, TooMany, Unavailable
from muster.domain.limits import Limits

BODY_BYTES = 512 << 20
"""What all request bodies may take in memory while they are read, and half of it for those of one address."""
REPORTS = 2
"""How many reports may be made at once. Each takes a connection of the database while it lasts."""
LOG_PAGES_PER_USER = 16
LOG_PAGES = 64
"""How many requests may read logs by line at once."""
LOG_READS_PER_USER = 64
LOG_READS = 512
"""How many requests may read logs from a position to their present end at once."""
WRITE_CHECKS_PER_USER = 16
WRITE_CHECKS = 64
"""How many requests may check at once whether the server can write. Standbys pass those of their monitors on."""
SCHEDULES = 8
"""How many schedules may be made at once."""
LOG_SEARCHES_PER_USER = 2
LOG_SEARCHES = 6
"""How many requests may search logs at once. Each keeps a thread busy for some seconds at most."""
RUN_SEARCHES_PER_USER = 4
RUN_SEARCHES = 16
"""How many requests may choose among runs at once. Each has up to 20,000 runs in memory, without most texts."""
COMMANDS_PER_USER = 32
COMMANDS = 512
"""How many commands may run in tasks at once."""
WAITS_PER_USER = 512
WAITS = 3072
"""How many requests may wait at once until something happens."""
SERVERS_PER_USER = 16
SERVERS = 256
"""How many other servers may wait at once for news of the jobs that they have handed on. Each looks at all of these."""
TASK_CONNECTIONS_PER_USER = 128
TASK_CONNECTIONS = 2048
"""How many connections to ports of tasks may be open at once. A node takes 512, of which one user has a quarter."""

_STREAMS_HINT = (
    "close other browsers that show the portal, and end commands that follow, such as `muster logs -f`; "
    "an admin can raise limits.streamsPerUser"
)


class Bound:
    """`what` names the things in messages. Those who hold nothing are not remembered."""

    def __init__(self, what: str, *, each: int, in_all: int, hint: str = "end some, or wait") -> None:
        self._what = what
        self._each = each
        self._in_all = in_all
        self._hint = hint
        self._held: Counter[str] = Counter()
        self.count = 0

    def _refusal(self, holder: str, amount: int = 1) -> MusterError | None:
        """Returns why the holder may not have so many more."""
        if self._held[holder] + amount > self._each:
            return TooMany(f"{holder or 'you'} may have at most {self._each} {self._what} at once", hint=self._hint)
        if self.count + amount > self._in_all:
            return Unavailable(f"the server has {self._in_all} {self._what}, and takes no more", retry_after_s=2.0)
        return None

    def take(self, holder: str, amount: int = 1) -> None:
        """Raises TooMany or Unavailable over a bound."""
        refusal = self._refusal(holder, amount)
        if refusal is not None:
            self._forget(holder)
            raise refusal
        self._held[holder] += amount
        self.count += amount

    def give_back(self, holder: str, amount: int = 1) -> None:
        self._held[holder] -= amount
        self.count -= amount
        self._forget(holder)

    @contextmanager
    def held(self, holder: str) -> Iterator[None]:
        self.take(holder)
        try:
            yield
        finally:
            self.give_back(holder)

    def held_by(self, holder: str) -> int:
        return self._held.get(holder, 0)

    @property
    def holders(self) -> int:
        return len(self._held)

    def _forget(self, holder: str) -> None:
        if self._held[holder] <= 0:
            del self._held[holder]


def bound_of_bodies() -> Bound:
    return Bound("bytes of requests", each=BODY_BYTES // 2, in_all=BODY_BYTES)


class Bounds:
    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.connections = Bound(
            "connections", each=min(limits.connections_per_address, limits.connections), in_all=limits.connections
        )
        self.streams = Bound("streams", each=limits.streams_per_user, in_all=limits.streams, hint=_STREAMS_HINT)
        self.uploads = Bound("uploads", each=limits.uploads_per_user, in_all=limits.uploads)
        self.reports = Bound("reports", each=1, in_all=REPORTS)
        self.write_checks = Bound("checks of writing", each=WRITE_CHECKS_PER_USER, in_all=WRITE_CHECKS)
        self.log_pages = Bound("pages of logs", each=LOG_PAGES_PER_USER, in_all=LOG_PAGES)
        self.log_reads = Bound("readings of logs", each=LOG_READS_PER_USER, in_all=LOG_READS)
        self.schedules = Bound("schedules", each=2, in_all=SCHEDULES)
        self.log_searches = Bound("searches of logs", each=LOG_SEARCHES_PER_USER, in_all=LOG_SEARCHES)
        self.waits = Bound("requests that wait", each=WAITS_PER_USER, in_all=WAITS)
        self.servers = Bound("waiting servers", each=SERVERS_PER_USER, in_all=SERVERS)
        self.run_searches = Bound("searches for runs", each=RUN_SEARCHES_PER_USER, in_all=RUN_SEARCHES)
        self.commands = Bound("commands in tasks", each=COMMANDS_PER_USER, in_all=COMMANDS)
        self.task_connections = Bound("connections to tasks", each=TASK_CONNECTIONS_PER_USER, in_all=TASK_CONNECTIONS)
