"""Builds what the API answers about sweeps."""

from typing import cast

from muster.api.jobs import JobStateName
from muster.api.sweeps import BestOut, PlannedMemberOut, SweepMemberOut, SweepOut, SweepStateName
from muster.domain.experiments.sweeps import MemberCounts, MemberValue, Sweep, sweep_state
from muster.domain.jobs import Job
from muster.lib.clock import iso, optional_iso


def sweep_view(sweep: Sweep, counts: MemberCounts, waits_for: str) -> SweepOut:
    plan = sweep.plan
    return {
        "id": sweep.id,
        "name": sweep.name,
        "owner": sweep.owner,
        "state": cast("SweepStateName", str(sweep_state(sweep, counts))),
        "members": plan.count,
        "made": sweep.made,
        "counts": dict(counts.by_state),
        "waitsFor": waits_for,
        "maxRunning": plan.max_running,
        "metric": plan.metric,
        "goal": plan.goal.value if plan.metric else None,
        "seed": plan.seed if plan.random else None,
        "params": list(plan.names),
        "createdAt": iso(sweep.created_at),
        "endedAt": optional_iso(sweep.ended_at),
        "stoppedBy": sweep.stopped_by,
    }


def best_view(sweep: Sweep, best: MemberValue | None) -> BestOut | None:
    if best is None or best.value is None or best.step is None:
        return None
    return {
        "member": best.member,
        "job": best.job_id,
        "name": sweep.member_name(best.member),
        "value": best.value,
        "step": best.step,
        "params": sweep.plan.values(best.member),
    }


def member_view(sweep: Sweep, job: Job, reason: str, value: MemberValue | None) -> SweepMemberOut:
    view: SweepMemberOut = {
        "member": job.member,
        "name": job.name,
        "job": job.id,
        "state": cast("JobStateName", job.state_name),
        "params": sweep.plan.values(job.member),
        "createdAt": iso(job.created_at),
        "startedAt": optional_iso(job.started_at),
        "endedAt": optional_iso(job.ended_at),
        "reason": reason,
    }
    if sweep.plan.metric:
        view["value"], view["step"] = (None, None) if value is None else (value.value, value.step)
        view["diverged"] = value is not None and value.has_diverged
    return view


def planned_member_view(sweep: Sweep, number: int) -> PlannedMemberOut:
    return {"member": number, "name": sweep.member_name(number), "params": sweep.plan.values(number)}
