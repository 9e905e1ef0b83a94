"""Builds what the API answers about what a job used. Figures are rounded here, for people and programs alike."""

from muster.api.job_usage import AttemptUseOut, GpuUseOut, JobUseOut, TaskUseOut, UseOut
from muster.domain.jobs import Job
from muster.domain.usage.job_usage import AttemptUse, JobUse, TaskUse
from muster.domain.usage.usage_advice import advice
from muster.domain.used_resources import UsageSum, UsedGpu, sum_of_task
from muster.lib.quantities import gpu_number


def job_usage_view(job: Job, use: JobUse) -> JobUseOut:
    return {
        "id": job.id,
        "name": job.name,
        "owner": job.owner,
        "state": job.state_name,
        "waitS": round(use.wait_s, 1),
        "runS": round(use.run_s, 1),
        "gpuHours": round(use.gpu_s / 3600, 4),
        "used": usage_sum_view(use.used, use.run_s),
        "advice": advice(use),
        "attempts": [_attempt(attempt) for attempt in use.attempts],
    }


def usage_sum_view(used: UsageSum, run_s: float) -> UseOut:
    return {
        "cpuS": _rounded(used.cpu_s, 1),
        "meanCores": _rounded(used.cpu_s / run_s, 2) if used.cpu_s is not None and run_s > 0 else None,
        "peakCores": _rounded(used.peak_cores, 2),
        "peakMemoryBytes": used.peak_memory_bytes,
        "gpuPercent": _rounded(used.gpu_percent, 1),
        "peakGpuPercent": _rounded(used.peak_gpu_percent, 1),
        "peakGpuMemoryBytes": used.peak_gpu_memory_bytes,
        "energyJ": _rounded(used.energy_j, 1),
        "sampled": used.is_sampled,
    }


def _attempt(attempt: AttemptUse) -> AttemptUseOut:
    return {
        "attempt": attempt.attempt,
        "waitS": _rounded(attempt.wait_s, 1),
        "runS": round(attempt.run_s, 1),
        "gpuHours": round(attempt.gpu_s / 3600, 4),
        "used": usage_sum_view(attempt.used, attempt.run_s),
        "tasks": [_task(use) for use in attempt.tasks],
    }


def _task(use: TaskUse) -> TaskUseOut:
    task = use.task
    return {
        "id": task.id,
        "name": task.name,
        "role": task.role,
        "state": task.state_name,
        "node": task.placement.node,
        "runS": round(use.run_s, 1),
        "asked": {"cores": use.cpu_m / 1000, "memoryBytes": use.memory_bytes, "gpus": gpu_number(use.gpu_m)},
        "used": None if task.used is None else usage_sum_view(sum_of_task(task.used), use.run_s),
        "gpus": [] if task.used is None else [_gpu(gpu) for gpu in task.used.gpus],
    }


def _gpu(gpu: UsedGpu) -> GpuUseOut:
    return {
        "index": gpu.index,
        "meanPercent": _rounded(gpu.mean_percent, 1),
        "peakPercent": _rounded(gpu.peak_percent, 1),
        "meanMemoryBytes": gpu.mean_memory_bytes,
        "peakMemoryBytes": gpu.peak_memory_bytes,
        "energyJ": _rounded(gpu.energy_j, 1),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
