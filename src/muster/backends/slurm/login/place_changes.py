"""Changes of where a Slurm cluster is: its login node, its folder there, its commands and their configuration.

Jobs are found only where they were submitted. So such a change waits until nothing is left there, and the cluster takes
no new jobs meanwhile. All other settings count at once.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from muster.backends.slurm.gang_marks import GangMarks
from muster.backends.slurm.options import SlurmOptions, SubmitAs
from muster.domain.pools import Pool, PoolCapacity

_KEYS: Mapping[str, str] = {
    "login": "login",
    "root": "sharedFolder",
    "user_root": "sharedFolder",
    "is_shared": "sharedFolder",
    "commands": "commands",
    "conf": "conf",
}
"""The options that say where the cluster is, and their keys in its file."""
_FOLDER = "sharedFolder"
_MENDING = frozenset(("login", "commands", "conf"))
"""The keys without whose right values nobody answers, so that a change may mend them."""


def changed_keys(before: SlurmOptions, after: SlurmOptions) -> tuple[str, ...]:
    """The keys of the file by which the cluster is somewhere else."""
    changed = [key for name, key in _KEYS.items() if getattr(before, name) != getattr(after, name)]
    if before.submit_as is not after.submit_as and _needs_other_files(before, after):
        changed = [key for key in changed if key != _FOLDER or before.user_root != after.user_root] + ["submitAs"]
    return tuple(dict.fromkeys(changed))


def _needs_other_files(before: SlurmOptions, after: SlurmOptions) -> bool:
    is_by_logins = SubmitAs.LOGIN in (before.submit_as, after.submit_as)
    return is_by_logins or before.is_shared is not after.is_shared


def is_same_account(before: SlurmOptions, after: SlurmOptions) -> bool:
    """Whether what was submitted by the login of a user is found by another. Its key may differ."""
    return _account(before) == _account(after)


def _account(options: SlurmOptions) -> tuple[str, int | None, str | None, str]:
    assert options.login is not None
    return options.login.host, options.login.port, options.login.user, options.root


def at_the_place_of(before: SlurmOptions, after: SlurmOptions) -> SlurmOptions:
    """The new options, for a cluster that stays where it is."""
    kept = {name: getattr(before, name) for name in (*_KEYS, "submit_as", "user_logins")}
    return replace(after, **kept)


class PlaceChange:
    """A change that waits. `patience_s` is how long nobody may answer at the old place, if the change may be meant to
    mend just that."""

    def __init__(
        self,
        keys: tuple[str, ...],
        wanted: SlurmOptions,
        patience_s: float,
        left: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys = keys
        self.wanted = wanted
        self._patience_s = patience_s
        self._clock = clock
        self._needed_at = clock()
        self._left = left

    def is_due(self, gangs: Collection[GangMarks], launching: int, *, is_answering: bool) -> bool:
        """Whether nothing is left at the old place. Gangs that are over are needed until the server has all of them,
        which may never be if their jobs are gone."""
        self._left = len(gangs) + launching
        if is_answering and (launching or any(not gang.is_over for gang in gangs)):
            self._needed_at = self._clock()
        is_given_up = self._clock() - self._needed_at >= self._patience_s
        return not self._left or (is_given_up and (is_answering or bool(_MENDING & {*self.keys})))

    def held(self, pool: Pool) -> Pool:
        """The pool while the change waits: nothing more is handed over."""
        return replace(pool, available=PoolCapacity(), head_start=PoolCapacity(), note=self.note)

    @property
    def note(self) -> str:
        keys = " and ".join(self.keys)
        jobs = "its last job has" if self._left == 1 else f"its {self._left} jobs have"
        verb = "is" if len(self.keys) == 1 else "are"
        return f"{keys} {verb} changed when {jobs} ended; until then it starts no other jobs"
