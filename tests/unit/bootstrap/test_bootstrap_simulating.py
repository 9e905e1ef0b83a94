"""The process of a simulation: its limits, and what becomes of it when it breaks one or is not wanted any more."""

import asyncio
from dataclasses import replace

import pytest

from muster.bootstrap import simulating
from muster.bootstrap.simulating import SimulatorProcess
from muster.domain.errors import Invalid, Unavailable
from muster.domain.experiments.past_jobs import PastJob
from muster.ports.simulating import SimulatedNodes, SimulationPlan, Variant

pytestmark = pytest.mark.anyio
NODES = [SimulatedNodes(2, 8, "A100", 64_000, 256 << 30)]
DEADLINE_S = 120.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def a_plan(count: int = 20) -> SimulationPlan:
    jobs = [
        PastJob(f"j{n}", "amy", "", 10.0 * n, 10.0 * n + 5, 10.0 * n + 95, 90.0, 8000, "A100", 1000, 1 << 30, None)
        for n in range(count)
    ]
    return SimulationPlan(jobs, [Variant("fifo", "fifo", NODES)], "unknown", "0", 50, 16)


async def run(plan: SimulationPlan) -> tuple[dict[str, object], list[float]]:
    told: list[float] = []
    async with asyncio.timeout(DEADLINE_S):
        return dict(await SimulatorProcess().run(plan, told.append)), told


async def test_a_plan_comes_back_as_curves() -> None:
    result, told = await run(a_plan())
    assert (result["jobs"], len(result["runs"])) == (20, 2)  # type: ignore[arg-type]
    assert all(0.0 <= share <= 1.0 for share in told)


async def test_a_bad_plan_is_refused_in_words() -> None:
    with pytest.raises(Invalid, match="expected exact, unknown"):
        await run(replace(a_plan(), durations="soon"))


async def test_one_that_takes_too_long_is_ended_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulating, "_WITHIN_S", 0.01)
    with pytest.raises(Unavailable, match="took too long"):
        await run(a_plan())
    monkeypatch.setattr(simulating, "_WITHIN_S", DEADLINE_S)
    monkeypatch.setattr(simulating, "_CPU_S", 1)
    with pytest.raises(Unavailable, match="took too long"):
        await run(a_plan(20_000))


async def test_a_cancelled_simulation_leaves_no_process() -> None:
    task = asyncio.create_task(SimulatorProcess().run(a_plan(20_000), lambda share: None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
