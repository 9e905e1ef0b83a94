"""How many runs outside of Muster each user has, and how many bytes of params and tags in all runs, as far as it was
counted. What is reported since then is added, so that the store counts only now and then."""

import math
from dataclasses import dataclass, replace

from muster.ports.store import Reported


@dataclass(frozen=True, slots=True)
class _Counted:
    held: Reported
    at: float


class ReportedData:
    def __init__(self) -> None:
        self._counted: dict[str, _Counted] = {}

    def counted(self, owner: str, held: Reported, at: float) -> None:
        self._counted[owner] = _Counted(held, at)

    def known(self, owner: str, since: float = -math.inf) -> Reported | None:
        """What the user has; None if it was not counted since then, or if something was removed afterwards."""
        found = self._counted.get(owner)
        return found.held if found is not None and found.at >= since else None

    def add(self, owner: str, runs: int, note_bytes: int) -> None:
        if (found := self._counted.get(owner)) is not None:
            held = Reported(found.held.runs + runs, found.held.note_bytes + note_bytes)
            self._counted[owner] = replace(found, held=held)

    def removed(self, owner: str) -> None:
        """A job of the user was removed: there is less than what was counted."""
        if (found := self._counted.get(owner)) is not None:
            self._counted[owner] = replace(found, at=-math.inf)
