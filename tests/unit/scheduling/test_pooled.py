"""An engine's pooled capacity as the scheduler sees it."""

import pytest

from muster.domain.nodes import NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import Elastic, JobDemand, TaskDemand
from muster.scheduling.pooled import never_fits, pooled_node, with_others

pytestmark = pytest.mark.fast
GIB = 1 << 30
TOTAL = PoolCapacity(64_000, 512 * GIB, {"A100": 8, "T4": 4})
NOTHING = PoolCapacity()
NODE = PoolCapacity(16_000, 128 * GIB, {"A100": 4, "T4": 2})


def a_pool(available: PoolCapacity = TOTAL, head_start: PoolCapacity = NOTHING) -> Pool:
    return Pool(TOTAL, available, NODE, head_start)


def a_job(job_id: str, count: int, want: Resources, **more: object) -> JobDemand:
    tasks = tuple(TaskDemand("worker", index, want) for index in range(count))
    return JobDemand(job_id, job_id, tasks, **more)  # type: ignore[arg-type]


def started(pool: Pool, *jobs: JobDemand) -> list[str]:
    state = ClusterState("slurm")
    state.node_changed(pooled_node("slurm", pool))
    for job in jobs:
        state.queued(job)
    return [start.job_id for start in state.cycle(1.0).starts]


def test_gangs_are_admitted_against_what_is_available() -> None:
    want = Resources(cpu_m=1000, gpus=4, gpu_models=("A100",))
    jobs = [a_job(f"j{number}", 1, want, created_at=float(number)) for number in range(3)]
    assert started(a_pool(), *jobs) == ["j0", "j1"]
    assert started(a_pool(PoolCapacity(64_000, 512 * GIB, {"A100": 4})), *jobs) == ["j0"]


def test_a_head_start_lets_a_little_more_wait_in_the_engine() -> None:
    want = Resources(cpu_m=16_000)
    jobs = [a_job(f"j{number}", 1, want, created_at=float(number)) for number in range(6)]
    assert started(a_pool(PoolCapacity(16_000, 64 * GIB), NODE), *jobs) == ["j0", "j1"]


def test_what_others_took_back_is_said_and_nothing_is_free_below_zero() -> None:
    state = ClusterState("slurm")
    state.node_changed(pooled_node("slurm", a_pool(PoolCapacity(16_000, 64 * GIB))))
    state.queued(a_job("first", 1, Resources(cpu_m=16_000)))
    assert [start.job_id for start in state.cycle(1.0).starts] == ["first"]
    taken = a_pool(PoolCapacity(4_000, 64 * GIB))
    state.node_changed(pooled_node("slurm", taken))
    state.queued(a_job("second", 1, Resources(cpu_m=2_000)))
    state.cycle(2.0)

    reason = state.reason("second")
    assert reason is not None
    assert reason.message == "needs 2 CPU; 0 free now"
    told = with_others(taken, reason)
    assert told.message == "needs 2 CPU; 0 free now; of 64 in all, 60 are used by others or out of service"
    assert with_others(Pool(TOTAL, TOTAL, NODE), reason) == reason


def test_gpus_of_other_models_are_not_among_those_that_others_use() -> None:
    taken = Pool(PoolCapacity(64_000, 512 * GIB, {"A100": 4, "v100": 8}), PoolCapacity(64_000, 512 * GIB), NODE)
    reason = Reason("no-free-gpu", "needs 4 GPUs of model V100; 0 free now", "", {"kind": "gpu", "models": "V100"})

    told = with_others(taken, reason)

    assert told.message.endswith("; of 8 in all, 8 are used by others or out of service")


def test_an_engine_that_has_not_said_what_it_has_gets_nothing_and_refuses_nobody() -> None:
    node = pooled_node("slurm", None)
    assert node.state is NodeState.JOINING
    assert never_fits(None, a_job("j", 1, Resources(gpus=1000))) is None


def test_devices_of_a_model_keep_their_indices_when_another_model_joins() -> None:
    before = pooled_node("slurm", Pool(TOTAL, PoolCapacity(1, 1, {"T4": 2}), NODE)).capacity.devices
    after = pooled_node("slurm", Pool(TOTAL, PoolCapacity(1, 1, {"A100": 3, "T4": 2}), NODE)).capacity.devices
    assert set(before) <= set(after)
    assert len({device.index for device in after}) == 5


@pytest.mark.parametrize(
    ("count", "want", "message"),
    [
        (1, Resources(gpus=5), "a task of worker asks for 5 GPUs, and there are at most 4 on one node"),
        (1, Resources(gpus=3, gpu_models=("T4",)), "a task of worker asks for 3 T4 GPUs, and there are at most 2"),
        (5, Resources(gpus=1, gpu_models=("T4",)), "its 5 tasks ask for 5 T4 GPUs, and there are at most 4 in all"),
        (13, Resources(gpus=1), "its 13 tasks ask for 13 GPUs, and there are at most 12 in all"),
        (1, Resources(cpu_m=17_000), "a task of worker asks for 17 CPUs, and there are at most 16 on one node"),
        (5, Resources(memory_bytes=120 * GIB), "its 5 tasks ask for"),
    ],
)
def test_what_the_engine_could_never_run_is_refused_with_the_most_there_is(
    count: int, want: Resources, message: str
) -> None:
    reason = never_fits(a_pool(NOTHING), a_job("j", count, want))
    assert reason is not None
    assert (reason.code, message in reason.message) == ("never", True), reason.message


def test_devices_are_counted_and_waited_for() -> None:
    want = Resources(cpu_m=1000, extended=(("xilinx.com/fpga", 2),))
    jobs = [a_job(f"j{number}", 1, want, created_at=float(number)) for number in range(3)]
    free = PoolCapacity(64_000, 512 * GIB, {}, {"xilinx.com/fpga": 5})
    assert started(a_pool(free), *jobs) == ["j0", "j1"]


def test_a_device_that_the_engine_does_not_have_is_refused_with_what_it_offers() -> None:
    job = a_job("j", 1, Resources(extended=(("xilinx.com/fpga", 1),)))
    known = PoolCapacity(64_000, 512 * GIB, {}, {"intel.com/qat": 2, "example.com/dsp": 1})
    reason = never_fits(Pool(known, known, known), job)
    assert reason is not None
    assert reason.message == "it asks for xilinx.com/fpga, and the cluster offers example.com/dsp, intel.com/qat"
    nothing = never_fits(a_pool(), job)
    assert nothing is not None
    assert nothing.message.endswith("and the cluster offers no devices other than GPUs")


@pytest.mark.parametrize(
    ("count", "each", "message"),
    [
        (1, 3, "a task of worker asks for 3 xilinx.com/fpga, and there are at most 2 on one node"),
        (5, 1, "its 5 tasks ask for 5 xilinx.com/fpga, and there are at most 4 in all"),
    ],
)
def test_more_devices_than_there_are_is_refused_with_the_most_there_is(count: int, each: int, message: str) -> None:
    total = PoolCapacity(64_000, 512 * GIB, {}, {"xilinx.com/fpga": 4})
    node = PoolCapacity(64_000, 512 * GIB, {}, {"xilinx.com/fpga": 2})
    reason = never_fits(Pool(total, total, node), a_job("j", count, Resources(extended=(("xilinx.com/fpga", each),))))
    assert reason is not None
    assert reason.message == message


def test_an_elastic_gang_is_judged_at_its_smallest() -> None:
    job = a_job("j", 20, Resources(gpus=1), elastic=(Elastic("worker", 4, 20),))
    assert never_fits(a_pool(), job) is None
