"""What has happened since the last cycle, so that a cycle looks again only at what may be different."""

from collections.abc import Iterable


class Changes:
    def __init__(self) -> None:
        self.is_pending = True
        """Whether the next cycle has anything to compute."""
        self.cycles = 0
        """How many cycles have computed something."""
        self._vcs: set[str] = set()

    def mark(self) -> None:
        self.is_pending = True

    def mark_vc(self, vc: str) -> None:
        """Something happened in this virtual cluster, so the next cycle looks at its guarantee."""
        self._vcs.add(vc)

    def mark_vcs(self, vcs: Iterable[str]) -> None:
        self._vcs.update(vcs)

    def begin_cycle(self) -> bool:
        """Whether there is anything to compute. What is marked from now on is for the cycle after this one."""
        if not self.is_pending:
            return False
        self.is_pending = False
        self.cycles += 1
        return True

    def take_vcs(self) -> set[str]:
        vcs, self._vcs = self._vcs, set()
        return vcs
