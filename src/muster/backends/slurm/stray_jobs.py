"""Sees to it that no job stays in Slurm that is over for Muster, whatever Slurm's controller has forgotten."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from muster.backends.slurm.login.slurm_login import SlurmLogin
from muster.domain.errors import BackendError

_log = structlog.get_logger("backends.slurm.stray_jobs")


@dataclass(frozen=True, slots=True)
class StrayTimes:
    settling_s: float = 60.0
    """How long after Slurm was away jobs may still come back, or be about to end."""
    every_s: float = 5.0
    watch_s: float = 60.0
    """How often they are looked for otherwise. The controller writes down what became of jobs in less time."""


STRAY_TIMES = StrayTimes()


class StrayJobs:
    """`logins` are those in use. A job is cancelled if it was there the last time as well."""

    def __init__(self, cluster: str, logins: Iterable[SlurmLogin], times: StrayTimes = STRAY_TIMES) -> None:
        self._cluster = cluster
        self._logins = logins
        self._times = times
        self._seen: dict[str, list[str]] = {}
        self._is_certain = True
        """Whether the last look was answered, and found nothing."""

    async def settle(self) -> None:
        """Look several times: Slurm has just come back, and jobs that end meanwhile are not over at once."""
        until = time.monotonic() + self._times.settling_s
        while time.monotonic() < until:
            await self.look()
            await asyncio.sleep(self._times.every_s)

    async def watch(self, unasked_s: Callable[[], float]) -> None:
        """Look while Slurm is asked for anything, and once more after that, as it may have been away since without
        anybody's notice. `unasked_s` is how long ago Slurm has answered."""
        while True:
            await asyncio.sleep(self._times.watch_s)
            if not self._is_certain or unasked_s() < 2 * self._times.watch_s:
                await self.look()

    async def look(self) -> None:
        is_certain = True
        for login in list(self._logins):
            seen = self._seen.pop(login.owner, [])
            try:
                answer = await login.order("batch_strays", seen=seen)
            except BackendError:
                is_certain = False
                continue  # whoever does not answer is looked for anyway
            self._seen[login.owner] = list(answer["strays"])
            is_certain = is_certain and not answer["strays"]
            if ended := sorted(set(seen) & set(answer["strays"])):
                _log.warning("jobs were over that Slurm still had", cluster=self._cluster, jobs=ended)
        self._is_certain = is_certain
