"""Whether limits, or the largest share of a virtual cluster, let one more gang start."""

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import WEEK_S, Limits, Share, VirtualCluster
from muster.scheduling.allocations.accounting import Account, Accounts
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import JobDemand
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.timers import Timer, Timers

_GIB = 1 << 30


class UsageLimits:
    def __init__(self, settings: VcSettings, accounts: Accounts, timers: Timers) -> None:
        self._settings = settings
        self._accounts = accounts
        self._timers = timers
        self._looks_at = 0.0
        """When all who wait for a week to pass are looked at again: one timer serves them."""

    def forbids(self, job: JobDemand, shape: Shape, now: float, instead_of: Shape | None = None) -> Reason | None:
        """The limit, or the largest share of its virtual cluster, that the gang would exceed. Where only time helps,
        the scheduler looks again when the earliest use of the week no longer counts."""
        reason = self.exceeded(job, shape, now, instead_of)
        if reason is not None and reason.numbers.get("limit") == "gpuHoursPerWeek":
            week = self._accounts.of(job.vc, str(reason.numbers["user"])).week
            self._look_again(week[0][0] + WEEK_S if week else now + WEEK_S, now)
        return reason

    def exceeded(self, job: JobDemand, shape: Shape, now: float, instead_of: Shape | None = None) -> Reason | None:
        """The same, and nothing is looked at again because of it."""
        vc = self._settings.by_name.get(job.vc)
        if vc is None:
            return None
        gpu_m, cpu_m, memory = shape.gpu_m, shape.cpu_m, shape.memory_bytes
        if instead_of is not None:
            gpu_m, cpu_m, memory = gpu_m - instead_of.gpu_m, cpu_m - instead_of.cpu_m, memory - instead_of.memory_bytes
        for of_user, limits in self._settings.limits_of(vc.name):
            user = job.user if of_user else ""
            reason = _exceeded(vc.name, user, limits, self._accounts.of(vc.name, user), gpu_m, now)
            if reason is not None:
                return reason
        if vc.max is None:
            return None
        return beyond_max(vc, self._accounts.of(vc.name), shape.gpu_models, gpu_m, cpu_m, memory)

    def _look_again(self, at: float, now: float) -> None:
        if not now < self._looks_at <= at:
            self._looks_at = at
            self._timers.add(at, Timer.LIMIT)


def _exceeded(vc: str, user: str, limits: Limits, account: Account, gpu_m: int, now: float) -> Reason | None:
    if limits.running_jobs is not None and account.jobs + 1 > limits.running_jobs:
        return _limit("runningJobs", vc, user, account.jobs, limits.running_jobs, "running jobs")
    if limits.running_gpus is not None and gpu_m and account.gpu_m + gpu_m > limits.running_gpus * 1000:
        return _limit("runningGpus", vc, user, account.gpu_m / 1000, limits.running_gpus, "running GPUs")
    if limits.gpu_hours_week is not None and gpu_m:
        used = account.week_used(now) / 3600
        if used >= limits.gpu_hours_week:
            return _limit("gpuHoursPerWeek", vc, user, used, limits.gpu_hours_week, "GPU hours in seven days")
    return None


def _limit(kind: str, vc: str, user: str, used: float, limit: float, what: str) -> Reason:
    return Reason(
        "limit",
        f"{f'{user} in {vc}' if user else vc} uses {used:g} of {limit:g} {what}",
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
    if most is None or _is_far_from(most, used, gpu_m, cpu_m, memory_bytes):
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


def _is_far_from(most: Share, used: Share | Account, gpu_m: int, cpu_m: int, memory_bytes: int) -> bool:
    """Whether nothing is exceeded even if all GPUs are of one model: a quick look that is mostly enough."""
    gpus_m = 1000 * sum(used.gpus.values()) + gpu_m
    for limit in most.gpus.values():
        if gpus_m > 1000 * limit:
            return False
    if most.cpu_m and used.cpu_m + cpu_m > most.cpu_m:
        return False
    return not most.memory_bytes or used.memory_bytes + memory_bytes <= most.memory_bytes


def _used(used: Share | Account, model: str) -> float:
    return sum(count for name, count in used.gpus.items() if name.lower() == model)
