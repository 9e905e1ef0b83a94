"""Runs simulations in processes of their own, so that the server's loops do not feel them."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from muster.domain.errors import Invalid, Unavailable
from muster.domain.experiments.past_jobs import PastJob
from muster.ports.simulating import SimulatedNodes, SimulationPlan

_MODULE = "muster.simulation.process"
_MEMORY_BYTES = 2 << 30
_CPU_S = 300
_WITHIN_S = 900.0
_LONGEST_LINE = 16 << 20
_PASSED_ON = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL")
"""Nothing else of the server's environment, which may have secrets."""
_JOBS_ON_A_LINE = 200
_TOO_LONG = "the simulation took too long, and was ended"
_LESS = "replay a shorter time, or fewer variants"


class SimulatorProcess:
    """Implements `ports.simulating.Simulator`."""

    async def run(self, plan: SimulationPlan, progress: Callable[[float], None]) -> Mapping[str, Any]:
        request = await asyncio.to_thread(_encoded, plan)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", _MODULE, str(_MEMORY_BYTES), str(_CPU_S)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_WITHIN_S):
                return await _answer(process, request, progress)
        except TimeoutError:
            raise Unavailable(_TOO_LONG, hint=_LESS) from None
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _answer(
    process: asyncio.subprocess.Process, request: bytes, progress: Callable[[float], None]
) -> Mapping[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it has ended already, and its exit says why
        process.stdin.write(request)
        await process.stdin.drain()
        process.stdin.close()
    while line := await process.stdout.readline():
        match json.loads(line):
            case {"progress": float(share) | int(share)}:
                progress(float(share))
            case {"result": dict(result)}:
                return result
            case {"error": str(error)}:
                raise Invalid(f"the simulation failed: {error}", hint=_LESS)
    await process.wait()
    raise Unavailable(_TOO_LONG, hint=_LESS)  # the limit of its CPU time ends it without a word


def _encoded(plan: SimulationPlan) -> bytes:
    """The plan on one line, and the jobs on further ones, not too many on each: nothing else runs while one line is
    encoded, also on a thread."""
    request = {
        "variants": [
            {"title": one.title, "policy": one.policy, "nodes": [_nodes(group) for group in one.nodes]}
            for one in plan.variants
        ],
        "durations": plan.durations,
        "preemptionCost": plan.preemption_cost,
        "points": plan.points,
        "ownGpus": plan.own_gpus,
    }
    lines = [json.dumps(request)]
    lines += [
        json.dumps([_job(job) for job in plan.jobs[start : start + _JOBS_ON_A_LINE]])
        for start in range(0, len(plan.jobs), _JOBS_ON_A_LINE)
    ]
    return "\n".join(lines).encode()


def _job(job: PastJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "owner": job.owner,
        "vc": job.vc,
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "endedAt": job.ended_at,
        "ranS": job.ran_s,
        "preemptions": job.preemptions,
        "gpuM": job.gpu_m,
        "gpuModel": job.gpu_model,
        "cpuM": job.cpu_m,
        "memoryBytes": job.memory_bytes,
        "timeLimitS": job.time_limit_s,
    }


def _nodes(group: SimulatedNodes) -> dict[str, Any]:
    return {
        "count": group.count,
        "gpus": group.gpus,
        "model": group.model,
        "cpuM": group.cpu_m,
        "memoryBytes": group.memory_bytes,
    }
