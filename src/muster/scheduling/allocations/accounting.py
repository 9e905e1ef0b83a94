"""How much virtual clusters and users use, now and lately: for limits, for shares and for fairness."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import log

from muster.domain.virtual_clusters import WEEK_S, Share, VirtualCluster
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.allocations.usage_views import Quota

HALF_LIFE_S = WEEK_S
"""The time after which past use counts half in fair sharing."""
_RATE = log(2) / HALF_LIFE_S


@dataclass(slots=True)
class Account:
    """What a virtual cluster, or one of its users, uses and has used."""

    jobs: int = 0
    gpu_m: int = 0
    gpus: dict[str, int] = field(default_factory=dict)
    """Devices in use, by model."""
    cpu_m: int = 0
    memory_bytes: int = 0
    weighted_since: float = 0.0
    """The sum of GPUs times the moment when they were allocated: what runs now has used `gpus * now - this`."""
    week: deque[tuple[float, float]] = field(default_factory=deque)
    """When each use ended, and its GPU-seconds."""
    week_gpu_s: float = 0.0
    faded: float = 0.0
    faded_at: float = 0.0

    def week_used(self, now: float) -> float:
        self._forget_before(now - WEEK_S)
        running = max(0.0, self.gpu_m / 1000 * now - self.weighted_since)
        return max(0.0, self.week_gpu_s) + running

    def usage(self, now: float) -> float:
        """GPU-seconds used, of which past ones fade with time."""
        self._fade(now)
        return self.faded

    def _fade(self, now: float) -> None:
        span = now - self.faded_at
        if span > 0:
            kept = 0.5 ** (span / HALF_LIFE_S)
            self.faded = self.faded * kept + self.gpu_m / 1000 * (1 - kept) / _RATE
            self.faded_at = now

    @property
    def share(self) -> Share:
        return Share({model: count for model, count in self.gpus.items() if count}, self.cpu_m, self.memory_bytes)

    def open(self, gpu_m: int, use: Share, now: float) -> None:
        self._fade(now)
        self._count(1, gpu_m, use)
        self.weighted_since += gpu_m / 1000 * now

    def close(self, gpu_m: int, use: Share, since: float, now: float) -> None:
        self._fade(now)
        self._count(-1, gpu_m, use)
        self.weighted_since -= gpu_m / 1000 * since
        self.charge(gpu_m / 1000 * max(0.0, now - since), now)

    def _count(self, sign: int, gpu_m: int, use: Share) -> None:
        self.jobs += sign
        self.gpu_m += sign * gpu_m
        self.cpu_m += sign * use.cpu_m
        self.memory_bytes += sign * use.memory_bytes
        for model, count in use.gpus.items():
            self.gpus[model] = self.gpus.get(model, 0) + sign * count

    def charge(self, gpu_s: float, at: float) -> None:
        if gpu_s > 0:
            self.week.append((at, gpu_s))
            self.week_gpu_s += gpu_s
            self._forget_before(at - WEEK_S)

    def _forget_before(self, at: float) -> None:
        while self.week and self.week[0][0] <= at:
            self.week_gpu_s -= self.week.popleft()[1]


class Accounts:
    def __init__(self) -> None:
        self._of: defaultdict[tuple[str, str], Account] = defaultdict(Account)
        self._ended: list[Allocation] = []
        """Jobs that have ended since the last cycle. Only the next cycle knows the time."""

    def of(self, vc: str, user: str = "") -> Account:
        """The account of a user in a virtual cluster, or of the whole virtual cluster."""
        return self._of[vc, user]

    def started(self, allocation: Allocation) -> None:
        job, gpu_m = allocation.job, allocation.shape.gpu_m
        for user in ("", job.user):
            self._of[job.vc, user].open(gpu_m, allocation.share, allocation.since)

    def ended(self, allocation: Allocation) -> None:
        self._ended.append(allocation)

    def settle(self, now: float) -> None:
        """Close what has ended since the last call."""
        if not self._ended:
            return
        for allocation in self._ended:
            job, shape = allocation.job, allocation.shape
            for user in ("", job.user):
                account = self.of(job.vc, user)
                account.close(shape.gpu_m, allocation.share, allocation.since, max(allocation.since, now))
        self._ended.clear()

    def charge(self, vc: str, user: str, gpu_s: float, at: float) -> None:
        """Count GPU time that was used before this state began."""
        for name in ("", user):
            account = self.of(vc, name)
            account.charge(gpu_s, at)
            account.faded += gpu_s * 0.5 ** (max(0.0, account.faded_at - at) / HALF_LIFE_S)

    def users(self, vc: str) -> list[str]:
        return sorted(user for name, user in self._of if name == vc and user)

    def quotas(self, vc: VirtualCluster, now: float) -> list[Quota]:
        found: list[Quota] = []
        for user in ("", *self.users(vc.name)):
            account, limits = self.of(vc.name, user), vc.user_limits if user else vc.limits
            for kind, limit, used in (
                ("runningGpus", limits.running_gpus, account.gpu_m / 1000),
                ("runningJobs", limits.running_jobs, account.jobs),
                ("gpuHoursPerWeek", limits.gpu_hours_week, account.week_used(now) / 3600),
            ):
                if limit is not None:
                    found.append(Quota(vc.name, user, kind, limit, used))
        return found
