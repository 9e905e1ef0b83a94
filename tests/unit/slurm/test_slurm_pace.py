"""Slurm is asked no more often than somebody needs it."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.backends.slurm.answers.job_facts import JobFacts
from muster.backends.slurm.answers.queries import Answer, Jobs, Machines
from muster.backends.slurm.backend import SlurmBackend
from muster.backends.slurm.gang_marks import Begin, End, GangMarks, TaskMarks
from muster.backends.slurm.options import Order, SlurmOptions
from muster.backends.slurm.pace import Pace, is_quiet
from muster.domain.clusters import PhysicalCluster
from muster.domain.pools import Pool, PoolCapacity
from tests.contract.backends.harness import FolderArchives

pytestmark = pytest.mark.fast
RUNS = TaskMarks("j.1.worker.0", Begin(1.0, "n1"))
ENDED = replace(RUNS, end=End(2.0, 0))


def gang(*tasks: TaskMarks) -> GangMarks:
    return GangMarks("j.1", "7", "j", tasks)


def paced(job: JobFacts, ago_s: float, *, with_nodes: bool = False, took_s: float = 0.0) -> Pace:
    """The pace after Slurm was asked for this job so long ago, and took so long to answer, for the third time."""
    times = iter([took_s] * 3)
    pace = Pace(lambda: next(times, ago_s))
    for _ in range(3):
        pace.answered(["7"], Answer(Jobs({"7": job}), Machines((), ()) if with_nodes else None), began=0.0)
    return pace


def test_slurm_is_asked_less_often_if_it_takes_long_again_and_again() -> None:
    pace = Pace(lambda: 1.0)
    waits = []
    for _ in range(3):
        pace.answered(["7"], Answer(Jobs()), began=0.0)
        waits.append(pace.poll_s(2.0))
    assert waits == [2.0, 2.0, 50.0]


@pytest.mark.parametrize(
    ("tasks", "is_so"),
    [
        ((), True),
        ((RUNS,), True),
        ((RUNS, ENDED), True),
        ((RUNS, TaskMarks("j.1.worker.1")), False),
        ((replace(RUNS, is_ordered=True),), False),
        ((replace(RUNS, end=End(2.0, signal=15, is_from_outside=True)),), False),
    ],
    ids=["nothing", "runs", "one has ended", "one has not begun", "is being stopped", "signalled by Slurm"],
)
def test_marks_tell_all_while_tasks_run(tasks: tuple[TaskMarks, ...], is_so: bool) -> None:
    assert is_quiet([gang(*tasks)]) is is_so


@pytest.mark.parametrize(
    ("task", "ago_s", "is_asked"),
    [
        (RUNS, 2.0, False),
        (RUNS, 11.0, True),
        (TaskMarks("t.1.worker.0"), 2.0, True),
        (TaskMarks("t.1.worker.0"), 0.1, False),
    ],
    ids=["runs", "runs, and a node may have failed", "waits", "waits, and somebody has just asked"],
)
def test_how_long_an_answer_about_jobs_holds(task: TaskMarks, ago_s: float, is_asked: bool) -> None:
    pace = paced(JobFacts("7", is_allocated=True), ago_s)

    assert (pace.known_jobs([gang(task)], ["7"], 1.0) is None) is is_asked


def test_running_tasks_are_asked_for_every_half_minute_at_least() -> None:
    assert paced(JobFacts("7"), 29.0).known_jobs([gang(RUNS)], ["7"], 10.0) is not None
    assert paced(JobFacts("7"), 31.0).known_jobs([gang(RUNS)], ["7"], 10.0) is None


def test_job_that_was_never_asked_for_is_asked_for() -> None:
    assert paced(JobFacts("7"), 0.0).known_jobs([gang(RUNS)], ["7", "8"], 1.0) is None


def test_nodes_matter_while_a_job_waits() -> None:
    waiting, running = JobFacts("7", is_waiting=True), JobFacts("7", is_allocated=True)

    assert paced(waiting, 6.0, with_nodes=True).needs_nodes()
    assert not paced(waiting, 1.0, with_nodes=True).needs_nodes()
    assert not paced(running, 600.0, with_nodes=True).needs_nodes()


def test_nodes_matter_for_a_while_after_slurm_was_away() -> None:
    times = iter([0.0, 6.0, 6.0, 61.0, 61.0])
    pace = Pace(lambda: next(times))
    pace.failed()
    pace.answered(["7"], Answer(Jobs({"7": JobFacts("7", is_allocated=True)}), Machines((), ())), began=0.0)

    assert [pace.needs_nodes(), pace.needs_nodes()] == [True, False]


def test_nodes_are_old_after_a_while_and_later_if_slurm_answers_slowly() -> None:
    assert paced(JobFacts("7"), 4.0, with_nodes=True).is_old(3.0)

    slow = paced(JobFacts("7"), 4.0, with_nodes=True, took_s=1.0)
    assert not slow.is_old(3.0)
    assert slow.poll_s(1.0) == 50.0


@pytest.mark.parametrize(
    ("ago_s", "waiting", "order", "is_certain"),
    [
        (2.0, 20, Order.MUSTER, True),
        (9.0, 20, Order.MUSTER, False),
        (9.0, 1, Order.MUSTER, True),
        (9.0, 20, Order.SLURM, True),
    ],
    ids=["fresh", "a burst after a quiet time", "a single job after a quiet time", "Slurm orders jobs itself"],
)
def test_nodes_are_asked_for_before_many_jobs_are_handed_over_by_an_old_view(
    tmp_path: Path, ago_s: float, waiting: int, order: Order, is_certain: bool
) -> None:
    settings = PhysicalCluster("hpc", "slurm", options=SlurmOptions(order=order))
    backend = SlurmBackend(settings, FolderArchives(tmp_path), identity="one", home=tmp_path)
    backend._pace = paced(JobFacts("7"), ago_s, with_nodes=True)
    backend._view.pool = Pool(PoolCapacity(), PoolCapacity(), PoolCapacity())
    assert backend.may_hand_over(waiting) is is_certain
    assert backend.may_hand_over(1) is (waiting > 1)
