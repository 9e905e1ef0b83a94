"""Reports: what is cut to the window, what counts as idle, and in which group."""

from dataclasses import replace

import pytest

from muster.domain.usage.usage_report import GroupBy, JobRun, Report, ReportLine, ReportWindow, TaskRun, quantile
from muster.domain.used_resources import UsedGpu, UsedResources

pytestmark = pytest.mark.fast
H = 3600.0
DAY = ReportWindow(24 * H, 48 * H)


def a_task(
    start: float, end: float | None, *means: float, cpu_m: int = 2000, gpus: int = 2, node: str = "n1"
) -> TaskRun:
    used = UsedResources(cpu_s=H, gpus=tuple(UsedGpu(i, H, mean, mean) for i, mean in enumerate(means)))
    return TaskRun(f"t{start}{node}", node, start, end, cpu_m, gpus * 1000, used if means else None)


def a_job(*tasks: TaskRun, fault: str = "", ended_at: float | None = 40 * H) -> JobRun:
    started_at = min((task.started_at for task in tasks), default=None)
    return JobRun("li", "", "lab", 0.0, started_at, ended_at, fault, tasks)


def lines(
    *jobs: JobRun, by: GroupBy = GroupBy.USER, now: float = 60 * H, live: UsedResources | None = None
) -> list[ReportLine]:
    report = Report(by, DAY, now, 10.0, {} if live is None else {job.tasks[0].id: live for job in jobs})
    for job in jobs:
        report.add(job)
    return report.lines()


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        (30 * H, 31 * H, 2.0),
        (20 * H, 26 * H, 4.0),
        (47 * H, 50 * H, 2.0),
        (0.0, 100 * H, 48.0),
        (47 * H, None, 2.0),
    ],
)
def test_runs_are_cut_to_the_window(start: float, end: float | None, hours: float) -> None:
    (line,) = lines(a_job(a_task(start, end), ended_at=end))
    assert (line.gpu_h, line.cpu_h, line.unmeasured_gpu_h) == (hours, hours, hours)


def test_what_ran_and_ended_outside_of_the_window_is_not_in_it() -> None:
    assert lines(a_job(a_task(1 * H, 23 * H), ended_at=23 * H), a_job(a_task(49 * H, 50 * H), ended_at=50 * H)) == []


def test_a_task_that_ended_at_once_counts_on_its_node() -> None:
    (line,) = lines(a_job(a_task(30 * H, 30 * H)), by=GroupBy.NODE)
    assert (line.group, line.jobs, line.gpu_h) == ("n1", 1, 0.0)


def test_used_cpu_is_cut_in_proportion() -> None:
    (line,) = lines(a_job(a_task(22 * H, 26 * H, 50, 50)))
    assert line.used_cpu_h == 0.5


def test_devices_below_the_threshold_are_idle() -> None:
    (line,) = lines(a_job(a_task(30 * H, 31 * H, 90, 2)), a_job(a_task(30 * H, 32 * H)))
    assert (line.gpu_h, line.idle_gpu_h, line.unmeasured_gpu_h, line.gpu_percent) == (6.0, 1.0, 4.0, 46.0)


def test_running_tasks_count_with_their_newest_samples() -> None:
    live = UsedResources(gpus=(UsedGpu(0, H, 1.0, 1.0),))
    (line,) = lines(a_job(a_task(30 * H, None, gpus=1), ended_at=None), now=40 * H, live=live)
    assert (line.gpu_h, line.idle_gpu_h) == (10.0, 10.0)


def test_waits_are_those_of_jobs_that_started_in_the_window() -> None:
    started = [a_job(a_task((30 + i) * H, 40 * H)) for i in range(4)]
    (line,) = lines(*started, a_job(a_task(20 * H, 40 * H)))
    assert (line.jobs, line.median_wait_s, line.p95_wait_s) == (5, 31 * H, 33 * H)


def test_failures_count_by_cause_if_they_were_in_the_window() -> None:
    ran = a_task(30 * H, 31 * H)
    failed = [a_job(ran, fault="user"), a_job(ran, fault="user"), a_job(fault="capacity"), a_job(ran)]
    (line,) = lines(*failed, a_job(ran, fault="limit", ended_at=50 * H))
    assert (line.jobs, line.failures) == (5, {"capacity": 1, "user": 2})


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (GroupBy.USER, ["li", "bo"]),
        (GroupBy.VC, ["(none)", "ads"]),
        (GroupBy.CLUSTER, ["lab", "attic"]),
        (GroupBy.NODE, ["n2", "n1"]),
    ],
)
def test_groups_come_with_the_most_gpu_hours_first(by: GroupBy, names: list[str]) -> None:
    big = a_job(a_task(30 * H, 31 * H), a_task(30 * H, 34 * H, node="n2"))
    small = replace(a_job(a_task(30 * H, 31 * H, gpus=1)), owner="bo", vc="ads", cluster="attic")
    assert [line.group for line in lines(small, big, by=by)] == names


def test_a_job_counts_on_each_of_its_nodes_but_once_in_the_total() -> None:
    report = Report(GroupBy.NODE, DAY, 60 * H, 10.0, {})
    report.add(a_job(a_task(30 * H, 31 * H), a_task(30 * H, 31 * H, node="n2")))
    assert [(line.group, line.jobs, line.gpu_h) for line in report.lines()] == [("n1", 1, 2.0), ("n2", 1, 2.0)]
    assert (report.total().jobs, report.total().gpu_h) == (1, 4.0)


def test_quantiles() -> None:
    assert [quantile([1, 2, 3, 4], part) for part in (0.5, 0.95, 0.01)] == [2, 4, 1]
    assert quantile([], 0.5) is None


def test_a_node_on_which_the_same_role_runs_longer_is_slower() -> None:
    first, second, slow = (
        replace(a_task(30 * H, end * H, node=node), id=f"job.1.worker.{place}")
        for place, (node, end) in enumerate([("n1", 31), ("n2", 31), ("n3", 32)])
    )
    found = {line.group: line.slowness for line in lines(a_job(first, second, slow), by=GroupBy.NODE)}
    assert found == {"n1": 1.0, "n2": 1.0, "n3": 2.0}


def test_other_roles_and_single_nodes_say_nothing_about_speed() -> None:
    server = replace(a_task(30 * H, 40 * H, node="n1"), id="job.1.ps.0")
    worker = replace(a_task(30 * H, 31 * H, node="n2"), id="job.1.worker.0")
    assert [line.slowness for line in lines(a_job(server, worker), by=GroupBy.NODE)] == [None, None]
    assert [line.slowness for line in lines(a_job(server, worker))] == [None]
