"""Who uses how much, now and lately: for limits, for shares and for fairness."""

from collections import deque
from dataclasses import dataclass, field
from math import log

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import WEEK_S, Limits, Share, VirtualCluster
from muster.scheduling.holding import Holder
from muster.scheduling.views import Quota

HALF_LIFE_S = WEEK_S
"""After so long, past use counts half in fair sharing."""
_RATE = log(2) / HALF_LIFE_S
_GIB = 1 << 30


@dataclass(slots=True)
class Account:
    """Of a virtual cluster (user empty) or of one of its users."""

    jobs: int = 0
    gpu_m: int = 0
    gpus: dict[str, int] = field(default_factory=dict)
    """Devices by model."""
    cpu_m: int = 0
    memory_bytes: int = 0
    weighted_since: float = 0.0
    """Sum of GPUs times when they were taken: what runs now has used `gpus * now - this`."""
    week: deque[tuple[float, float]] = field(default_factory=deque)
    """When a use ended, and its GPU-seconds."""
    week_gpu_s: float = 0.0
    faded: float = 0.0
    faded_at: float = 0.0

    def week_used(self, now: float) -> float:
        self._forget_before(now - WEEK_S)
        running = max(0.0, self.gpu_m / 1000 * now - self.weighted_since)
        return max(0.0, self.week_gpu_s) + running

    def usage(self, now: float) -> float:
        """GPU-seconds, fading with time."""
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

    def take(self, gpu_m: int, use: Share, now: float) -> None:
        self._fade(now)
        self._count(1, gpu_m, use)
        self.weighted_since += gpu_m / 1000 * now

    def leave(self, gpu_m: int, use: Share, since: float, now: float) -> None:
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
        self._of: dict[tuple[str, str], Account] = {}

    def of(self, vc: str, user: str = "") -> Account:
        account = self._of.get((vc, user))
        if account is None:
            account = self._of[vc, user] = Account()
        return account

    def take(self, holder: Holder, now: float) -> None:
        for user in ("", holder.job.user):
            self.of(holder.job.vc, user).take(holder.shape.gpu_m, holder.use, now)

    def leave(self, holder: Holder, now: float) -> None:
        for user in ("", holder.job.user):
            self.of(holder.job.vc, user).leave(holder.shape.gpu_m, holder.use, holder.since, now)

    def charge(self, vc: str, user: str, gpu_s: float, at: float) -> None:
        for name in ("", user):
            account = self.of(vc, name)
            account.charge(gpu_s, at)
            account.faded += gpu_s * 0.5 ** (max(0.0, account.faded_at - at) / HALF_LIFE_S)

    def over(self, vc: VirtualCluster, user: str, gpu_m: int, now: float) -> Reason | None:
        """The limit that one more gang of so many GPUs would break."""
        for name, limits in (("", vc.limits), (user, vc.user_limits)):
            if (found := _over(vc.name, name, limits, self.of(vc.name, name), gpu_m, now)) is not None:
                return found
        return None

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


def _over(vc: str, user: str, limits: Limits, account: Account, gpu_m: int, now: float) -> Reason | None:
    whose = f"{user} in {vc}" if user else vc
    if limits.running_jobs is not None and account.jobs + 1 > limits.running_jobs:
        return _limit("runningJobs", whose, vc, user, account.jobs, limits.running_jobs, "running jobs")
    if limits.running_gpus is not None and gpu_m and account.gpu_m + gpu_m > limits.running_gpus * 1000:
        return _limit("runningGpus", whose, vc, user, account.gpu_m / 1000, limits.running_gpus, "running GPUs")
    if limits.gpu_hours_week is not None and gpu_m:
        used = account.week_used(now) / 3600
        if used >= limits.gpu_hours_week:
            return _limit("gpuHoursPerWeek", whose, vc, user, used, limits.gpu_hours_week, "GPU hours in seven days")
    return None


def _limit(kind: str, whose: str, vc: str, user: str, used: float, limit: float, what: str) -> Reason:
    return Reason(
        "limit",
        f"{whose} uses {used:g} of {limit:g} {what}",
        "it starts when some of that ends, or when the limit is raised",
        {"limit": kind, "vc": vc, "user": user, "used": round(used, 3), "allowed": limit},
    )


def beyond_max(
    vc: VirtualCluster,
    used: Share | Account,
    models: tuple[str, ...],
    gpu_m: int,
    cpu_m: int,
    memory_bytes: int,
) -> Reason | None:
    """The largest share that the virtual cluster may have, borrowed parts included."""
    most = vc.max
    if most is None:
        return None
    checks: list[tuple[str, float, float]] = []
    if gpu_m:
        gpus = gpu_m / 1000
        if "" in most.gpus:
            checks.append(("GPUs", sum(used.gpus.values()) + gpus, most.gpus[""]))
        named = {model.lower(): limit for model, limit in most.gpus.items() if model}
        wanted = [model.lower() for model in models] or list(named)
        if named and wanted and all(model in named and _used(used, model) + gpus > named[model] for model in wanted):
            checks.append((f"{wanted[0]} GPUs", _used(used, wanted[0]) + gpus, named[wanted[0]]))
    if most.cpu_m:
        checks.append(("CPUs", (used.cpu_m + cpu_m) / 1000, most.cpu_m / 1000))
    if most.memory_bytes:
        checks.append(("GiB of memory", (used.memory_bytes + memory_bytes) / _GIB, most.memory_bytes / _GIB))
    for what, would, limit in checks:
        if would > limit:
            return Reason(
                "share",
                f"{vc.name} may use {limit:g} {what} and would use {would:g}",
                "it starts when other jobs of the virtual cluster end",
                {"vc": vc.name, "most": limit, "would": would},
            )
    return None


def _used(used: Share | Account, model: str) -> float:
    return sum(count for name, count in used.gpus.items() if name.lower() == model)
