"""Several servers for one client, in the order of preference: which of them is alive, and which have one store.

Servers on one store are the same to a client, so that it may go on at another of them in the middle of its work. A
server with a store of its own is used only from the beginning on. A token goes to the server to which it belongs, and
to no other.
"""

import http.client
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from muster.client.certificates import connection_to
from muster.client.contexts import Context
from muster.client.errors import BAD_INPUT, UNREACHABLE, MusterError, Problem

LOOK_WITHIN_S = 5.0
_LOOKED_AT = "/api/v1/whoami"
_ROUNDS = 3
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Target:
    """An address, with what belongs to it and to no other."""

    address: SplitResult
    token: str | None = field(default=None, repr=False)
    fingerprint: str | None = None

    @property
    def shown(self) -> str:
        return f"{self.address.scheme}://{self.address.netloc}{self.address.path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a server has shown. `store` is empty if it did not say, and `problem` if it is alive."""

    store: str = ""
    problem: str = ""
    may_recover: bool = False
    """Whether something listens there, which may do its work in a moment."""


LookAt = Callable[[Target], Look]


class Receivers:
    """`say` gets what a person should know: another server than the first is used. Safe to use from several threads."""

    def __init__(
        self,
        targets: Sequence[Target],
        say: Callable[[str], None],
        sleep: Callable[[float], None],
        look: LookAt | None = None,
    ) -> None:
        self._targets = tuple(targets)
        self._say = say
        self._sleep = sleep
        self._look = look or look_at
        self._stores: dict[Target, str] = {}
        self._problems: dict[Target, str] = {}
        self._lock = threading.RLock()
        self._chosen: Target | None = None

    def chosen(self) -> Target:
        """The server in use. The first that is alive is chosen when one is first needed. Raises MusterError if none
        is."""
        with self._lock:
            if self._chosen is None:
                self._chosen = self._first_alive(self._targets, lambda _: True)
            if self._chosen is None:
                raise self.none_found()
            return self._chosen

    def in_use(self) -> Target:
        """The server in use, or the first one as long as none was needed."""
        return self._chosen or self._targets[0]

    def has_peers(self, target: Target) -> bool:
        """Whether there may be another server on the same store: one that was never asked may be on it."""
        store = self._stores.get(target, "")
        return bool(store) and any(
            self._stores.get(one, store) == store for one in self._targets if one.address != target.address
        )

    def are_one(self, one: Target, other: Target) -> bool:
        """Whether they are the same server, or have the same store."""
        store = self._stores.get(one, "")
        return one.address == other.address or (bool(store) and store == self._stores.get(other, ""))

    def move_from(self, failed: Target, why: str, *, to_any_store: bool = False) -> bool:
        """Goes on at another server, on the same store unless any will do. False if there is none."""
        with self._lock:
            if self._chosen is not None and self._chosen.address != failed.address:
                return True  # another thread has moved on already
            store = self._stores.get(failed, "")
            if not store and not to_any_store:
                return False
            self._problems[failed] = why
            place = next((at for at, one in enumerate(self._targets) if one.address == failed.address), 0)
            others = (*self._targets[place + 1 :], *self._targets[:place])
            found = self._first_alive(others, lambda look: to_any_store or look.store == store, failed, rounds=1)
            if found is not None:
                self._chosen = found
            return found is not None

    def is_alive(self, target: Target) -> bool:
        return not self._look(target).problem

    def change(self, target: Target) -> None:
        """Replaces the token or the certificate of a server."""
        with self._lock:
            before = next(one for one in self._targets if one.address == target.address)
            self._targets = tuple(target if one is before else one for one in self._targets)
            for kept in (self._stores, self._problems):
                if before in kept:
                    kept[target] = kept.pop(before)
            if self._chosen == before:
                self._chosen = target

    def gave_up(self, target: Target, why: str, error: MusterError) -> MusterError:
        """The error of a request that no server on the store has answered, of which `error` was the last."""
        self._problems[target] = why
        found = self.none_found()
        found.is_unsure = error.is_unsure
        return found

    def none_found(self) -> MusterError:
        lines = [Problem(one.shown, self._problems.get(one, "it was not asked")) for one in self._targets]
        return MusterError(
            "no active receiver found",
            code=UNREACHABLE,
            problems=lines,
            hint="`muster context list` shows the addresses of each context, and MUSTER_SERVER overrides them",
        )

    def _first_alive(
        self,
        targets: Sequence[Target],
        fits: Callable[[Look], bool],
        failed: Target | None = None,
        rounds: int = _ROUNDS,
    ) -> Target | None:
        """Asks again only where something listens: a server that has just taken over needs a moment."""
        for turn in range(rounds):
            left, asked = list(targets), list[Target]() if failed is None else [failed]
            for target in left:
                look = self._look(target)
                if not look.problem:
                    self._stores[target] = look.store
                    if fits(look):
                        self._tell(target, asked)
                        return target
                    self._problems[target] = "it has another store"
                    continue
                self._problems[target] = look.problem
                asked.append(target)
                if not look.may_recover:
                    targets = [one for one in targets if one is not target]
            if not targets or turn + 1 == rounds:
                return None
            self._sleep(_PAUSE_S)
        return None

    def _tell(self, target: Target, silent: Sequence[Target]) -> None:
        if silent:
            why = "; ".join(f"{one.shown} does not answer: {self._problems[one]}" for one in silent)
            self._say(f"connected to {target.shown}; {why}")


def look_at(target: Target, connect_s: float = LOOK_WITHIN_S, answer_s: float = LOOK_WITHIN_S) -> Look:
    """Asks a server who it is. Any answer shows that it is alive, but for one that says that it cannot work."""
    connection = connection_to(target.address, connect_s, target.fingerprint)
    is_connected = False
    try:
        connection.connect()
        is_connected = True
        connection.sock.settimeout(answer_s)
        headers = {"Accept": "application/json"}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        connection.request("GET", target.address.path.rstrip("/") + _LOOKED_AT, headers=headers)
        response = connection.getresponse()
        body = response.read()
    except TimeoutError:
        return Look(problem=f"no answer within {answer_s:g} s", may_recover=is_connected)
    except MusterError as error:
        return Look(problem=error.message)
    except (OSError, http.client.HTTPException) as error:
        return Look(problem=failure_words(error), may_recover=is_connected)
    finally:
        connection.close()
    if response.status >= 500:
        return Look(problem=_detail(response.status, body), may_recover=True)
    return Look(_store_in(body) if response.status == 200 else "")


def targets_of(context: Context) -> tuple[Target, ...]:
    return tuple(Target(parsed_address(one.server), one.token, one.fingerprint) for one in context.receivers)


def parsed_address(server: str) -> SplitResult:
    address = urlsplit(server if "://" in server else f"http://{server}")
    if address.scheme not in ("http", "https") or not address.hostname:
        raise MusterError(
            f"{server!r} is not a server address",
            code=BAD_INPUT,
            hint="an address looks like http://127.0.0.1:7070",
        )
    return address


def failure_words(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _store_in(body: bytes) -> str:
    try:
        return str(json.loads(body)["server"].get("store") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _detail(status: int, body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}"
