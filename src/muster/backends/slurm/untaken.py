"""The gangs that are to be handed over and that Slurm has not taken yet, and why.

Slurm refuses jobs while their user, account or QOS has as many as it may have: the same job is taken later. So many
jobs may wait for that at a time that only one of those with the same limits is tried now and then.
"""

import time
from collections.abc import Callable

_TRY_AGAIN_S = 5.0
Place = tuple[str, str]
"""Where jobs have the same limits in Slurm: their virtual cluster, and whose jobs they are there."""


class Untaken:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._whys: dict[str, str] = {}
        self._full: dict[Place, tuple[float, str]] = {}
        """When the next job is tried, and what Slurm said of the last one."""

    def why(self, key: str) -> str:
        """Why the gang has not been taken; empty if nothing is known."""
        return self._whys.get(key, "")

    def note(self, key: str, why: str) -> None:
        self._whys[key] = why

    def settled(self, key: str) -> None:
        """It was taken, or is not wanted any more."""
        self._whys.pop(key, None)

    def full_why(self, place: Place) -> str:
        """Why no job is to be tried there now. Empty if one is: whoever is told so is taken to try it."""
        until, why = self._full.get(place, (0.0, ""))
        now = self._clock()
        if now < until:
            return why
        if place in self._full:
            self._full[place] = now + _TRY_AGAIN_S, why
        return ""

    def is_full(self, place: Place, why: str) -> None:
        self._full[place] = self._clock() + _TRY_AGAIN_S, why

    def has_room(self, place: Place) -> None:
        self._full.pop(place, None)
