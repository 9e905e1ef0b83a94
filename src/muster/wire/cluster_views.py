"""Builds what the API answers about virtual clusters and quotas."""

from collections.abc import Sequence

from muster.api.nodes import AccessOut
from muster.api.sharing import ClusterProblemOut, DefaultsOut, LimitsOut, QuotaOut, ShareOut, VirtualClusterOut
from muster.domain.access import Access
from muster.domain.errors import Problem
from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Role
from muster.domain.virtual_clusters import Defaults, Limits, Share, VirtualCluster
from muster.lib.quantities import format_bytes, format_cpu
from muster.scheduling.allocations.usage_views import Quota, ShareView
from muster.wire.specs import spec_to_wire


def virtual_cluster_view(vc: VirtualCluster, share: ShareView | None, *, names_people: bool) -> VirtualClusterOut:
    """`names_people` is for admins: it shows who else may use the virtual cluster."""
    nothing = Share()
    return {
        "name": vc.name,
        "cluster": vc.cluster,
        "description": vc.description,
        "guaranteed": share_view(vc.guaranteed),
        "max": None if vc.max is None else share_view(vc.max),
        "borrow": vc.borrows,
        "used": share_view(share.used if share else nothing),
        "borrowed": share_view(share.borrowed if share else nothing),
        "lent": share_view(share.lent if share else nothing),
        "running": share.running if share else 0,
        "waiting": share.waiting if share else 0,
        "policy": str(vc.policy),
        "predictionError": share.prediction_error if share else None,
        "priorities": [str(priority) for priority in vc.priorities],
        "mayRefusePreemption": vc.may_refuse_preemption,
        "limits": _limits_view(vc.limits),
        "userLimits": _limits_view(vc.user_limits),
        "defaults": _defaults_view(vc.defaults),
        "users": list(vc.users) if names_people else None,
        "groups": list(vc.groups) if names_people else None,
    }


def access_view(access: Access) -> AccessOut:
    return {"users": list(access.users), "groups": list(access.groups)}


def share_view(share: Share) -> ShareOut:
    """`gpu` is the sum of all GPUs; `gpuModels` counts those of a given model."""
    return {
        "gpu": sum(share.gpus.values()),
        "gpuModels": {model: count for model, count in share.gpus.items() if model},
        "cpu": format_cpu(share.cpu_m),
        "memory": format_bytes(share.memory_bytes),
    }


def quota_view(quota: Quota, jobs: Sequence[str]) -> QuotaOut:
    """`jobs` are the names of jobs that wait because of this quota, as far as the reader may see them."""
    return {
        "vc": quota.vc,
        "user": quota.user or None,
        "kind": quota.kind,
        "limit": _number(quota.limit),
        "used": _number(quota.used),
        "waiting": len(quota.waiting),
        "jobs": list(jobs),
    }


def problem_view(problem: Problem) -> ClusterProblemOut:
    return {
        "file": problem.file,
        "line": problem.line,
        "path": problem.path,
        "message": problem.message,
        "hint": problem.hint,
    }


def _limits_view(limits: Limits) -> LimitsOut:
    return {
        "runningGpus": limits.running_gpus,
        "runningJobs": limits.running_jobs,
        "gpuHoursPerWeek": limits.gpu_hours_week,
        "queuedJobs": limits.queued_jobs,
    }


def _defaults_view(defaults: Defaults) -> DefaultsOut:
    """Shows defaults in the form that the same keys of a job have."""
    role = Role("worker", 1, ("true",), defaults.resources or Resources())
    spec = JobSpec("defaults", (role,), env=defaults.env, runtime=defaults.runtime, mounts=defaults.mounts)
    wire = spec_to_wire(spec)
    return {
        "env": dict(defaults.env),
        "runtime": wire.get("runtime", {}),
        "mounts": wire.get("mounts", []),
        "resources": None if defaults.resources is None else wire["roles"]["worker"]["resources"],
    }


def _number(amount: float) -> int | float:
    return int(amount) if amount == int(amount) else round(amount, 3)
