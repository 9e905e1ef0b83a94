"""What jobs used: sums of tasks, attempts and jobs, waits and run times, and the advice that follows."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Job, JobState, Queued, Running, Succeeded
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task, TaskRunning, TaskSucceeded, TaskWaiting
from muster.domain.usage.job_usage import JobUse, job_use, with_live
from muster.domain.usage.usage_advice import advice
from muster.domain.used_resources import UsageSum, UsedGpu, UsedResources, add, sum_of, sum_of_task, with_sampled

pytestmark = pytest.mark.fast
GIB = 1 << 30


def a_job(asked: Resources, state: JobState, replicas: int = 1, created_at: float = 0.0) -> Job:
    spec = JobSpec("a", (Role("worker", replicas, ("x",), asked),))
    ended_at = state.at if isinstance(state, Succeeded) else None
    return Job("j", "li", "lab", spec, state, created_at, ended_at=ended_at, attempt=1)


def a_task(
    index: int = 0,
    attempt: int = 1,
    start: float | None = 0.0,
    end: float | None = 600.0,
    used: UsedResources | None = None,
) -> Task:
    state = TaskWaiting(0.0) if start is None else TaskRunning(start) if end is None else TaskSucceeded(end)
    name, place = f"a-worker-{index}", Placement("n")
    task = Task(f"j.{attempt}.worker.{index}", "j", attempt, name, "worker", index, index, place, state)
    return replace(task, started_at=start, ended_at=end, used=used)


def busy(*means: float, sampled_s: float = 600.0, peak: float | None = None) -> tuple[UsedGpu, ...]:
    return tuple(UsedGpu(i, sampled_s, mean, mean if peak is None else peak) for i, mean in enumerate(means))


def of_one(asked: Resources, used: UsedResources | None, start: float = 0.0, end: float = 600.0) -> JobUse:
    return job_use(a_job(asked, Succeeded(end)), [a_task(start=start, end=end, used=used)], now=end)


def test_sums_add_amounts_and_keep_the_highest_peaks() -> None:
    first = UsedResources(10.0, 2.0, 3 * GIB, (UsedGpu(0, 100.0, 80.0, 90.0, GIB, 2 * GIB, 500.0),))
    second = UsedResources(5.5, 4.0, GIB, (UsedGpu(1, 300.0, 40.0, 99.0, GIB, GIB, None),))
    assert sum_of([first, None, second]) == UsageSum(2, 15.5, 4.0, 3 * GIB, 400.0, 50.0, 99.0, 2 * GIB, 500.0)


def test_what_nobody_measured_stays_unknown() -> None:
    assert sum_of_task(UsedResources()) == UsageSum(tasks=1)
    assert add(UsageSum(), UsageSum()) == UsageSum()


def test_samples_alone_give_cpu_seconds_and_peaks() -> None:
    used = with_sampled(None, 150.0, 2 * GIB, 10.0)
    used = with_sampled(used, 50.0, 3 * GIB, 20.0)
    used = with_sampled(used, None, GIB, 20.0)
    assert used == UsedResources(25.0, 1.5, 3 * GIB, (), is_sampled=True)


def test_waits_and_runs_of_attempts_add_up() -> None:
    tasks = [
        a_task(0, 1, 100.0, 160.0),
        a_task(1, 1, 110.0, 150.0),
        a_task(0, 2, 200.0, 260.0),
        a_task(1, 2, 210.0, 250.0),
    ]
    use = job_use(a_job(Resources(gpus=2), Succeeded(261.0), 2), tasks, now=999.0)
    assert [(one.wait_s, one.run_s, one.gpu_s) for one in use.attempts] == [(100.0, 60.0, 200.0), (40.0, 60.0, 200.0)]
    assert (use.wait_s, use.run_s, use.gpu_s) == (140.0, 120.0, 400.0)


def test_half_a_gpu_counts_half() -> None:
    assert of_one(Resources(gpus=1, gpu_share=500), None).gpu_s == 300.0


@pytest.mark.parametrize(
    ("state", "tasks", "wait_s", "run_s"),
    [
        (Queued(0.0), [], 500.0, 0.0),
        (Running(100.0), [a_task(start=100.0, end=None)], 100.0, 400.0),
        (Running(0.0), [a_task(start=None, end=None)], 500.0, 0.0),
        (Queued(160.0), [a_task(start=100.0, end=160.0)], 440.0, 60.0),
    ],
)
def test_a_job_that_has_not_ended_waits_or_runs_until_now(
    state: JobState, tasks: list[Task], wait_s: float, run_s: float
) -> None:
    use = job_use(a_job(Resources(), state), tasks, now=500.0)
    assert (use.wait_s, use.run_s) == (wait_s, run_s)


def test_only_a_task_without_final_figures_takes_the_newest_sample() -> None:
    so_far, final = UsedResources(1.0), UsedResources(2.0)
    assert with_live(a_task(end=None), {"j.1.worker.0": so_far}).used == so_far
    assert with_live(a_task(used=final), {"j.1.worker.0": so_far}).used == final
    assert with_live(a_task(), {}).used is None


@pytest.mark.parametrize(
    ("asked", "used", "words"),
    [
        (
            Resources(gpus=8),
            UsedResources(gpus=busy(31, 31, 0, 0, 0, 0, 0, 0)),
            "It asked for 8 GPUs and used 2, at 31 %: ask for 2.",
        ),
        (Resources(gpus=4), UsedResources(gpus=busy(0, 0, 0, 0)), "It asked for 4 GPUs and did not use them."),
        (Resources(gpus=1), UsedResources(gpus=busy(0)), "It asked for 1 GPU and did not use it."),
        (
            Resources(gpus=2),
            UsedResources(gpus=busy(11, 12, peak=80)),
            "It asked for 2 GPUs and used them at 12 %: look whether it waits for its data.",
        ),
        (Resources(gpus=2), UsedResources(gpus=busy(85, 92)), ""),
        (Resources(gpus=2), UsedResources(gpus=()), ""),
        (Resources(gpus=2), UsedResources(gpus=busy(0, 0, sampled_s=10)), ""),
        (Resources(gpus=1, gpu_share=500), UsedResources(gpus=busy(0)), ""),
        (
            Resources(memory_bytes=64 * GIB),
            UsedResources(peak_memory_bytes=3 * GIB),
            "It asked for 64 GiB of memory and used 3 GiB at most.",
        ),
        (Resources(memory_bytes=64 * GIB), UsedResources(peak_memory_bytes=40 * GIB), ""),
        (Resources(memory_bytes=2 * GIB), UsedResources(peak_memory_bytes=1 << 20), ""),
        (Resources(memory_bytes=64 * GIB), UsedResources(), ""),
        (Resources(16000), UsedResources(600.0, 1.5), "It asked for 16 cores and used 1 on average."),
        (Resources(16000), UsedResources(600.0, 15.0), ""),
        (Resources(2000), UsedResources(6.0, 0.1), ""),
        (Resources(250), None, ""),
    ],
)
def test_advice_for_a_run_of_ten_minutes(asked: Resources, used: UsedResources | None, words: str) -> None:
    assert advice(of_one(asked, used)) == words


def test_long_waits_for_idle_gpus_are_named() -> None:
    use = of_one(Resources(gpus=4), UsedResources(gpus=busy(2, 2, 2, 2, peak=90)), start=10800.0, end=11400.0)
    assert advice(use) == "It waited 3h for 4 GPUs and used them 2 % of the time."


def test_a_run_of_seconds_gives_no_advice() -> None:
    used = UsedResources(gpus=busy(0, 0), peak_memory_bytes=1)
    assert advice(of_one(Resources(gpus=2, memory_bytes=64 * GIB), used, end=59.0)) == ""


def test_advice_about_several_tasks_speaks_of_each() -> None:
    job = a_job(Resources(memory_bytes=8 * GIB), Succeeded(600.0), 2)
    tasks = [a_task(i, used=UsedResources(peak_memory_bytes=(i + 1) << 29)) for i in range(2)]
    use = job_use(job, tasks, now=600.0)
    assert advice(use) == "It asked for 8 GiB of memory per task and used 1 GiB at most."
