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

    def __init__(
        self,
        cluster: str,
        logins: Iterable[SlurmLogin],
        times: StrayTimes = STRAY_TIMES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._logins = logins
        self._times = times
        self._clock = clock
        self._looked_at = clock()
        self._seen: dict[str, list[str]] = {}
        self._is_certain = True
        """Whether the last look was answered, and found nothing."""

    async def settle(self) -> None:
        """Look several times: Slurm has just come back, and jobs that end meanwhile are not over at once."""
        until = self._clock() + self._times.settling_s
        while self._clock() < until:
            await self.look()
            await asyncio.sleep(self._times.every_s)

    async def watch(self, unasked_s: Callable[[], float]) -> None:
        """Look while there is a reason to. `unasked_s` is how long ago Slurm has answered."""
        while True:
            await asyncio.sleep(self._times.watch_s)
            if self.is_due(unasked_s()):
                await self.look()

    def is_due(self, unasked_s: float) -> bool:
        """Whether Slurm was asked for anything since the last look, or shortly before it: it may have been away since
        without anybody's notice. A look may take long, and what is asked meanwhile counts as well."""
        return not self._is_certain or self._clock() - unasked_s > self._looked_at - self._times.watch_s

    async def look(self) -> None:
        self._looked_at, is_certain = self._clock(), True
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
