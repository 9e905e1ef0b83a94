"""Ports for tasks: chosen outside the range the kernel hands out by itself, and proved free by binding them.

A port given to an owner stays bound (not listening) until the launch that uses it, so nobody else can take it in
between. Freed ports go to the back of the line: a peer that still talks to the old task must not reach a new one.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, List, Optional, Sequence, Set

from muster.agent.errors import BAD_REQUEST, NO_PORTS, PORT_IN_USE, AgentError
from muster.agent.tasks.port_keeper import PortKeeper


class PortLedger:
    def __init__(self, candidates: Sequence[int], taken_by: Callable[[], Dict[int, str]]) -> None:
        """`taken_by` tells the ports of live tasks; it is asked anew each time, so it cannot go stale."""
        self._candidates = list(candidates)
        # Several agents may share one machine: beginning at different places they seldom meet.
        self._next = random.randrange(len(self._candidates)) if self._candidates else 0
        self._keeper = PortKeeper()
        self._held: Dict[str, Set[int]] = {}
        self._taken_by = taken_by

    def reserve(self, owner: str, count: int, first: Optional[int] = None) -> List[int]:
        """`count` ports for this owner in all: asking again gives the same ones, and more only if more are asked. The
        port `first` is the first of them, if it can be had."""
        held = self._held.get(owner, set())
        wanted = count - len(held)
        fresh: Set[int] = set()
        if wanted > 0:
            fresh = {first} if first is not None and first not in held and self._take(first) else set()
            fresh |= self._find(wanted - len(fresh))
        if len(fresh) < wanted:
            self._keeper.free(fresh)
            raise AgentError(NO_PORTS, "only {} of {} ports are free on this node".format(len(fresh), wanted))
        if held or fresh:
            self._held[owner] = held | fresh
        return sorted(held | fresh, key=lambda port: (port != first, port))[:count]

    def release(self, owner: str) -> None:
        self._keeper.free(self._held.pop(owner, set()))

    def check(self, ports: Sequence[int], owner: Optional[str]) -> None:
        """Raise unless each port is held for this owner, or free for all."""
        if len(set(ports)) != len(ports):
            raise AgentError(BAD_REQUEST, "a port is named twice in {}".format(list(ports)))
        taken = self._taken_by() if ports else {}
        for port in ports:
            holder = self._holder(port)
            if port in taken:
                raise AgentError(PORT_IN_USE, "port {} belongs to task {}".format(port, taken[port]))
            if holder is not None and holder != owner:
                raise AgentError(PORT_IN_USE, "port {} is held for {}".format(port, holder))
            if holder is None and not self._keeper.is_free(port):
                raise AgentError(PORT_IN_USE, "port {} is used by another process".format(port))

    def let_go(self, ports: Sequence[int]) -> None:
        """Close our hold right before the task that shall bind them starts."""
        for port in ports:
            owner = self._holder(port)
            if owner is None:
                continue
            self._held[owner].discard(port)
            self._keeper.free([port])
            if not self._held[owner]:
                del self._held[owner]

    def _holder(self, port: int) -> Optional[str]:
        return next((owner for owner, ports in self._held.items() if port in ports), None)

    def _take(self, port: int) -> bool:
        if port not in self._candidates or port in self._taken_by() or self._holder(port) is not None:
            return False
        return self._keeper.bind(port)

    def _find(self, count: int) -> Set[int]:
        taken = self._taken_by()
        found: Set[int] = set()
        for _ in range(len(self._candidates)):
            if len(found) == count:
                break
            port = self._candidates[self._next]
            self._next = (self._next + 1) % len(self._candidates)
            if port not in taken and self._holder(port) is None and self._keeper.bind(port):
                found.add(port)
        return found
