"""One sentence about what a job asked for and did not use. It says nothing when all is fine, or too early to tell."""

from collections.abc import Sequence

from muster.domain.resources import WHOLE_GPU
from muster.domain.usage.job_usage import AttemptUse, JobUse, TaskUse
from muster.domain.used_resources import UsedGpu
from muster.lib.quantities import about_bytes, about_duration, about_number, about_percent

_LONG_ENOUGH_S = 60.0
"""A shorter run says little: most of it may be the start."""
_USED_PERCENT = 5.0
"""A GPU that was never busier than this was not used."""
_IDLE_PERCENT = 20.0
_SELDOM_PERCENT = 10.0
_LONG_WAIT_S = 1800.0
_PART = 0.25
"""Less than this part of what was asked for is little."""
_LEAST_MEMORY_BYTES = 4 << 30
_LEAST_CORES = 4.0


def advice(use: JobUse) -> str:
    """Empty if there is none."""
    latest = next((attempt for attempt in reversed(use.attempts) if attempt.used.tasks), None)
    if latest is None or latest.run_s < _LONG_ENOUGH_S:
        return ""
    return _about_gpus(latest, use.wait_s) or _about_memory(latest.tasks) or _about_cpu(latest.tasks)


def _about_gpus(attempt: AttemptUse, wait_s: float) -> str:
    """A task that shares a GPU is left out: how busy the others keep it is not known."""
    gpus = [gpu for use in attempt.tasks if use.task.used and use.gpu_m >= WHOLE_GPU for gpu in use.task.used.gpus]
    known = [gpu for gpu in gpus if gpu.mean_percent is not None and gpu.sampled_s >= _LONG_ENOUGH_S / 2]
    if not known or len(known) < len(gpus):
        return ""
    used = [gpu for gpu in known if (gpu.peak_percent or 0.0) > _USED_PERCENT]
    count, mean = len(known), _mean(known)
    if not used:
        return f"It asked for {_gpus(count)} and did not use {_them(count)}."
    if len(used) < count:
        fewer = f"ask for {len(used)}" if len(attempt.tasks) == 1 else "ask for fewer"
        return f"It asked for {_gpus(count)} and used {len(used)}, at {about_percent(_mean(used))}: {fewer}."
    if wait_s >= _LONG_WAIT_S and mean < _SELDOM_PERCENT:
        waited = f"It waited {about_duration(wait_s)} for {_gpus(count)}"
        return f"{waited} and used {_them(count)} {about_percent(mean)} of the time."
    if mean < _IDLE_PERCENT:
        cause = "look whether it waits for its data"
        return f"It asked for {_gpus(count)} and used {_them(count)} at {about_percent(mean)}: {cause}."
    return ""


def _about_memory(uses: Sequence[TaskUse]) -> str:
    known = [use for use in uses if use.task.used is not None and use.task.used.peak_memory_bytes is not None]
    if not known or len(known) < len(uses):
        return ""
    for asked in sorted({use.memory_bytes for use in known}, reverse=True):
        peak = max(_peak_bytes(use) for use in known if use.memory_bytes == asked)
        if asked >= _LEAST_MEMORY_BYTES and peak < asked * _PART:
            each = " per task" if len(uses) > 1 else ""
            return f"It asked for {_size(asked)} of memory{each} and used {_size(peak)} at most."
    return ""


def _about_cpu(uses: Sequence[TaskUse]) -> str:
    known = [use for use in uses if use.mean_cores is not None and use.task.used is not None]
    if not known or len(known) < len(uses):
        return ""
    for asked_m in sorted({use.cpu_m for use in known}, reverse=True):
        same = [use for use in known if use.cpu_m == asked_m]
        asked, mean = asked_m / 1000, max(use.mean_cores or 0.0 for use in same)
        peak = max((use.task.used.peak_cores or 0.0) if use.task.used else 0.0 for use in same)
        if asked >= _LEAST_CORES and mean < asked * _PART and peak < asked / 2:
            each = " per task" if len(uses) > 1 else ""
            return f"It asked for {about_number(asked)} cores{each} and used {about_number(mean)} on average."
    return ""


def _mean(gpus: Sequence[UsedGpu]) -> float:
    seconds = sum(gpu.sampled_s for gpu in gpus)
    return sum((gpu.mean_percent or 0.0) * gpu.sampled_s for gpu in gpus) / seconds


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _peak_bytes(use: TaskUse) -> int:
    return (use.task.used.peak_memory_bytes or 0) if use.task.used else 0


def _size(count: int) -> str:
    return about_bytes(count).replace(".0 ", " ")
