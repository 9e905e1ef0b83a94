"""Every policy on a trace small enough to be worked out by hand: the whole schedule as a table.

`preempted at` lists the moments at which a job had to leave; what it had done by then is not lost.
"""

from collections.abc import Sequence

import pytest

from muster.simulation import driver
from muster.simulation.driver import simulate
from muster.simulation.options import CostKind, Durations, DurationsKind, Options, Policy, PreemptionCost, parse_nodes
from muster.simulation.records import Finished, TraceJob

pytestmark = pytest.mark.fast
UNKNOWN = Durations(DurationsKind.UNKNOWN)


def schedule(
    monkeypatch: pytest.MonkeyPatch, trace: str, nodes: str, policy: Policy, durations: Durations | None = None
) -> list[str]:
    """Rows `job, first start, end, preempted at`, in order of the first start. The real driver does the work; what it
    does to a job is written down as it happens."""
    left: dict[str, list[str]] = {}
    interrupt = driver._Simulation._interrupt

    def noting(self: driver._Simulation, ride: driver._Ride, now: float) -> None:
        left.setdefault(ride.job.job_id, []).append(f"{now:g}")
        interrupt(self, ride, now)

    monkeypatch.setattr(driver._Simulation, "_interrupt", noting)
    run = simulate(jobs_of(trace), parse_nodes(nodes), Options(policy, durations=durations or Durations()))
    order = sorted(run.finished, key=lambda done: (done.first_start_s, done.job.job_id))
    return [_row(done, left.get(done.job.job_id, [])) for done in order]


def _row(done: Finished, left: Sequence[str]) -> str:
    return f"{done.job.job_id} {done.first_start_s:g} {done.end_s:g} {','.join(left) or '-'}"


def jobs_of(trace: str) -> list[TraceJob]:
    """Lines `job submitted duration gpus [user]`."""
    found = []
    for line in trace.strip().splitlines():
        name, submit, duration, gpus, *user = line.split()
        found.append(TraceJob(name, float(submit), float(duration), float(gpus), user=user[0] if user else ""))
    return found


def rows(table: str) -> list[str]:
    """Without the heading, and with one blank between cells."""
    return [" ".join(line.split()) for line in table.strip().splitlines()[1:]]


QUEUE = """
    a   0 100 2
    b  10 100 4
    c  20  10 2
    d  30  60 1
    e  40  90 1
"""
"""Four GPUs. b wants all of them and stands at the head until a ends."""


def test_fifo_the_head_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """b waits for a, and everybody waits for b."""
    assert schedule(monkeypatch, QUEUE, "1x4", Policy.FIFO) == rows("""
        job start end preempted
        a       0 100 -
        b     100 200 -
        c     200 210 -
        d     200 260 -
        e     200 290 -
    """)


def test_first_fit_whatever_fits_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """c goes into the two GPUs that a leaves; d and e into those that c leaves. b finds four at 130."""
    assert schedule(monkeypatch, QUEUE, "1x4", Policy.FIRST_FIT) == rows("""
        job start end preempted
        a       0 100 -
        c      20  30 -
        d      30  90 -
        e      40 130 -
        b     130 230 -
    """)


def test_easy_nobody_delays_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """b is reserved 100. c and d are gone by then; e would end at 130 and waits."""
    assert schedule(monkeypatch, QUEUE, "1x4", Policy.EASY) == rows("""
        job start end preempted
        a       0 100 -
        c      20  30 -
        d      30  90 -
        b     100 200 -
        e     200 290 -
    """)


def test_ssf_the_least_gpu_time_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPU time: a 50, b 40, c 200, d 30. When a ends: d (30), then b (40), then c (200)."""
    trace = """
        a 0 50 1
        b 1 20 2
        c 2 100 2
        d 3 30 1
    """
    assert schedule(monkeypatch, trace, "1x2", Policy.SSF) == rows("""
        job start end preempted
        a       0  50 -
        d       3  33 -
        b      50  70 -
        c      70 170 -
    """)


def test_srsf_the_least_remaining_gpu_time_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 10, a has 180 GPU-seconds left and b wants 40: a leaves. At 15, b has 30 left; c wants 10, and takes both.
    At 20, b goes on until 35, then a with its 90 seconds."""
    trace = """
        a  0 100 2
        b 10  20 2
        c 15   5 2
        d 16 100 2
    """
    assert schedule(monkeypatch, trace, "1x2", Policy.SRSF) == rows("""
        job start end preempted
        a       0 125 10
        b      10  35 15
        c      15  20 -
        d     125 225 -
    """)


def test_las_who_has_had_least_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step ends at an hour of GPU time. At 3600, a has had that and leaves for b. At 7200, so has b, but a is
    in the second step too: b goes on. At 8000, c comes in the first step, and a leaves once more."""
    trace = """
        a    0 5000 1
        b  100 4000 1
        c 8000  100 1
    """
    assert schedule(monkeypatch, trace, "1x1", Policy.LAS, UNKNOWN) == rows("""
        job start  end preempted
        a       0 9100 3600,8000
        b    3600 7600 -
        c    8000 8100 -
    """)


def test_fair_who_has_used_least_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a ends, amy has used 100 GPU-seconds and bob none: c passes b. Then bob has used 300: b, and then d."""
    trace = """
        a  0 100 1 amy
        b 10 100 1 amy
        c 20 300 1 bob
        d 30 100 1 bob
    """
    assert schedule(monkeypatch, trace, "1x1", Policy.FAIR) == rows("""
        job start end preempted
        a       0 100 -
        c     100 400 -
        b     400 500 -
        d     500 600 -
    """)


def test_default_the_least_expected_work_first_and_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is predicted is believed at first: b has far less to do than a, and c far less than b. b interrupts a, c
    interrupts b; b goes on before a."""
    trace = """
        a   0 90000 1
        b 100  2000 1
        c 110    60 1
    """
    assert schedule(monkeypatch, trace, "1x1", Policy.DEFAULT) == rows("""
        job start   end preempted
        a       0 92060 100
        b     100  2160 110
        c     110   170 -
    """)


def test_default_without_preemption_lets_the_running_job_end() -> None:
    trace = """
        a   0 4000 1
        b 100  100 1
        c 110   60 1
    """
    options = Options(Policy.DEFAULT, preemption_cost=PreemptionCost(CostKind.NONE))
    run = simulate(jobs_of(trace), parse_nodes("1x1"), options)
    assert [_row(done, []) for done in run.finished] == rows("""
        job start end preempted
        a       0 4000 -
        c    4000 4060 -
        b    4060 4160 -
    """)
