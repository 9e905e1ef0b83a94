"""Hand-worked examples: who starts, where, and what the others are told."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Queued
from muster.domain.nodes import Node, NodeState
from muster.domain.specs import Priority, Role
from muster.scheduling.demand import JobDemand, Plan, demand_of
from muster.scheduling.state import ClusterState
from tests.parts.building import GIB, a_job, a_node, a_role, a_spec

pytestmark = pytest.mark.fast


def a_cluster(*nodes: Node) -> ClusterState:
    state = ClusterState("lab")
    for node in nodes:
        state.node_changed(node)
    return state


def a_demand(number: int, *roles: Role, priority: Priority = Priority.NORMAL) -> JobDemand:
    spec = a_spec(*roles, name=f"job-{number}", priority=priority)
    return demand_of(a_job(spec, job_id=f"j{number}", created_at=float(number)))


def queue(state: ClusterState, *demands: JobDemand) -> Plan:
    for demand in demands:
        state.queued(demand)
    return state.cycle(100.0)


def started(plan: Plan) -> list[str]:
    return [start.job_id for start in plan.starts]


def places(plan: Plan, job_id: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    start = next(start for start in plan.starts if start.job_id == job_id)
    return {f"{slot.role}-{slot.index}": (slot.node, slot.devices) for slot in start.slots}


def test_a_gang_starts_whole_or_not_at_all() -> None:
    state = a_cluster(a_node("n1", 4), a_node("n2", 4))
    plan = queue(state, a_demand(1, a_role(replicas=9)))
    assert started(plan) == []
    assert [state.used(name)[0] for name in ("n1", "n2")] == [0, 0]
    state.unqueued("j1")
    plan = queue(state, a_demand(2, a_role(replicas=8)))
    assert started(plan) == ["j2"]
    assert [state.used(name)[0] for name in ("n1", "n2")] == [4000, 4000]


def test_a_gang_stays_on_few_nodes_and_fills_the_fullest_that_holds_it() -> None:
    state = a_cluster(a_node("big", 8), a_node("small", 2))
    plan = queue(state, a_demand(1, a_role(replicas=2)), a_demand(2, a_role(replicas=3)))
    assert {node for node, _ in places(plan, "j1").values()} == {"small"}
    assert {node for node, _ in places(plan, "j2").values()} == {"big"}


def test_cpu_tasks_leave_the_gpus_free() -> None:
    state = a_cluster(a_node("cards", 8, 32 * GIB, "A100"), a_node("plain", 8))
    assert places(queue(state, a_demand(1, a_role())), "j1") == {"worker-0": ("plain", ())}


def test_devices_are_given_once_and_ascending() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, *["A100"] * 4))
    plan = queue(state, a_demand(1, a_role(replicas=2, gpus=2)))
    assert places(plan, "j1") == {"worker-0": ("n1", (0, 1)), "worker-1": ("n1", (2, 3))}
    assert state.used("n1")[2] == dict.fromkeys(range(4), "j1")


@pytest.mark.parametrize(
    ("models", "wanted", "node"),
    [
        (("V100", "A100"), ("A100", "V100"), "n1"),
        (("V100", "H100"), ("A100", "V100"), "n0"),
        (("V100", "A100"), ("a100",), "n1"),
        (("A100", "V100"), (), "n0"),
    ],
)
def test_the_most_preferred_model_that_is_free_is_taken(
    models: tuple[str, str], wanted: tuple[str, ...], node: str
) -> None:
    state = a_cluster(*(a_node(f"n{index}", 8, 32 * GIB, model) for index, model in enumerate(models)))
    plan = queue(state, a_demand(1, a_role(gpus=1, models=wanted)))
    assert places(plan, "j1") == {"worker-0": (node, (0,))}


def test_devices_of_one_task_are_of_one_model() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "V100", "V100"))
    assert places(queue(state, a_demand(1, a_role(gpus=2))), "j1") == {"worker-0": ("n1", (1, 2))}
    assert started(queue(state, a_demand(2, a_role(gpus=2)))) == []


def test_a_task_that_takes_any_model_leaves_the_one_that_another_needs() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100", "V100", "V100", "V100", "V100"))
    gang = a_demand(1, a_role("any", gpus=2), a_role("picky", gpus=2, models=("A100",)))
    assert state.never_fits(gang) is None
    assert places(queue(state, gang), "j1") == {"picky-0": ("n1", (0, 1)), "any-0": ("n1", (2, 3))}


def test_first_come_first_served_within_a_priority_and_urgent_first() -> None:
    state = a_cluster(a_node("n1", 2))
    plan = queue(
        state,
        a_demand(1, a_role()),
        a_demand(2, a_role(), priority=Priority.LOW),
        a_demand(3, a_role(), priority=Priority.URGENT),
        a_demand(4, a_role(), priority=Priority.HIGH),
    )
    assert started(plan) == ["j3", "j4"]
    assert plan.waits["j1"].code == "no-free-cpu"
    assert plan.waits["j2"].code == "behind"


def test_a_small_job_does_not_overtake_a_large_one_that_waits_for_the_same() -> None:
    state = a_cluster(a_node("n1", 4))
    assert started(queue(state, a_demand(1, a_role(cpu=2)))) == ["j1"]
    plan = queue(state, a_demand(2, a_role(cpu=4)), a_demand(3, a_role(cpu=1)))
    assert started(plan) == []
    assert plan.waits["j3"].message == "waits behind job-2"
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j2"]


def test_a_job_that_waits_for_gpus_does_not_stop_cpu_jobs() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100"))
    assert started(queue(state, a_demand(1, a_role(gpus=1)))) == ["j1"]
    plan = queue(state, a_demand(2, a_role(gpus=1)), a_demand(3, a_role()), a_demand(4, a_role(gpus=1)))
    assert started(plan) == ["j3"]
    assert plan.waits["j2"].code == "no-free-gpu"
    assert plan.waits["j4"].code == "behind"


def test_gpus_that_are_free_but_apart_do_not_stop_cpu_jobs_either() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, *["A100"] * 4), a_node("n2", 8, 32 * GIB, *["A100"] * 4))
    others = a_cluster(a_node("n2", 8, 32 * GIB, *["A100"] * 4))
    state.holds("old", queue(others, a_demand(9, a_role(gpus=2))).starts[0].slots)
    plan = queue(state, a_demand(1, a_role(replicas=2, gpus=3)), a_demand(2, a_role()))
    assert started(plan) == ["j2"]
    assert plan.waits["j1"].code == "no-free-gpu"
    assert plan.waits["j1"].message == "needs 6 GPUs for 2 tasks together; 6 free now, but not 3 GPUs on one node"


def test_reasons_have_their_numbers() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100"))
    queue(state, a_demand(1, a_role(cpu=6, memory=20 * GIB, gpus=1)))
    cases = {
        2: (a_role(cpu=4), "needs 4 CPU; 2 free now"),
        3: (a_role(cpu=0.5, memory=16 * GIB), "needs 16.0 GiB memory; 12.0 GiB free now"),
        4: (
            a_role(replicas=2, cpu=0.5, gpus=1, models=("A100",)),
            "needs 2 GPUs of model A100 for 2 tasks together; 1 free now",
        ),
    }
    for number, (role, message) in cases.items():
        plan = queue(state, a_demand(number, role))
        assert plan.waits[f"j{number}"].message == message
        assert plan.waits[f"j{number}"].numbers["wanted"]
        state.unqueued(f"j{number}")


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            (a_role(cpu=64),),
            "one worker task asks for 64 CPU, and no node has that; the largest that could run: "
            "8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU",
        ),
        (
            (a_role(gpus=1, models=("H100",)),),
            "one worker task asks for 1 GPU of model H100, and no node has that; the largest that could run: "
            "8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU",
        ),
        (
            (a_role(replicas=3, gpus=1),),
            "its 3 tasks must run together and ask for 3 GPUs, but the whole cluster has 2; the largest that could "
            "run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on one node",
        ),
        (
            (a_role(replicas=3, memory=30 * GIB),),
            "its 3 tasks must run together and ask for 90.0 GiB memory, but the whole cluster has 64.0 GiB; the "
            "largest that could run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on one node",
        ),
        (
            (a_role(replicas=3, cpu=5),),
            "its 3 tasks must run together and ask for 15 CPU, but the whole cluster has 16, and not 5 CPU on one node "
            "for each; the largest that could run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on "
            "one node",
        ),
    ],
)
def test_what_can_never_run_is_told_the_largest_that_could(roles: tuple[Role, ...], message: str) -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100"), a_node("n2", 8))
    reason = state.never_fits(a_demand(1, *roles))
    assert reason is not None
    assert (reason.code, reason.message) == ("never", message)


def test_what_runs_now_does_not_make_a_job_impossible() -> None:
    state = a_cluster(a_node("n1", 2))
    queue(state, a_demand(1, a_role(cpu=2)))
    assert state.never_fits(a_demand(2, a_role(cpu=2))) is None


def test_nodes_that_are_away_count_for_what_could_run_but_not_for_what_starts() -> None:
    state = a_cluster(a_node("n1", 8, state=NodeState.UNREACHABLE))
    assert state.never_fits(a_demand(1, a_role(cpu=8))) is None
    plan = queue(state, a_demand(1, a_role(cpu=8)))
    assert plan.waits["j1"].message == "no node is ready (Unreachable)"
    state.node_changed(a_node("n1", 8))
    assert started(state.cycle(100.0)) == ["j1"]


def test_nothing_is_impossible_before_a_node_has_said_what_it_has() -> None:
    state = a_cluster(a_node("n1", 0, 0, state=NodeState.JOINING))
    assert state.never_fits(a_demand(1, a_role(cpu=64))) is None


def test_a_cluster_without_nodes_waits_for_one() -> None:
    state = a_cluster()
    reason = state.never_fits(a_demand(1, a_role()))
    assert reason is not None
    assert reason.code == "no-node"
    assert queue(state, a_demand(1, a_role())).waits["j1"].code == "no-node"


def test_a_job_that_backs_off_lets_others_pass_and_says_when_to_look_again() -> None:
    state = a_cluster(a_node("n1", 1))
    later = replace(a_demand(1, a_role()), not_before=130.0)
    plan = queue(state, later, replace(a_demand(2, a_role()), not_before=150.0), a_demand(3, a_role()))
    assert started(plan) == ["j3"]
    assert plan.wake_at == 130.0
    assert plan.waits["j1"].message == "waits 30 s more before it is tried again"
    state.released("j3")
    assert started(state.cycle(130.0)) == ["j1"]


def test_a_queued_jobs_back_off_is_in_its_demand() -> None:
    assert demand_of(a_job(state=Queued(1.0, not_before=9.0))).not_before == 9.0


def test_jobs_that_a_cycle_did_not_reach_know_how_many_are_ahead() -> None:
    state = a_cluster(a_node("n1", 1))
    queue(state, *(a_demand(number, a_role()) for number in range(1, 6)))
    reason = state.reason("j5")
    assert reason is not None
    assert reason.message == "waits behind job-2, 3 ahead of it in the queue"
    assert state.reason("j1") is None


def test_what_a_job_holds_survives_a_change_of_its_node() -> None:
    state = a_cluster(a_node("n1", 4, 32 * GIB, "A100", "A100"))
    queue(state, a_demand(1, a_role(gpus=1)))
    state.node_changed(a_node("n1", 8, 32 * GIB, "A100", "A100", "A100"))
    plan = queue(state, a_demand(2, a_role(gpus=2)))
    assert places(plan, "j2") == {"worker-0": ("n1", (1, 2))}
    state.node_removed("n1")
    state.released("j1")
    state.node_changed(a_node("n1", 8, 32 * GIB, "A100", "A100", "A100"))
    assert state.used("n1")[2] == {1: "j2", 2: "j2"}
    assert started(queue(state, a_demand(3, a_role(gpus=1)))) == ["j3"]


def test_a_job_that_has_just_come_starts_at_once_only_when_nobody_waits() -> None:
    state = a_cluster(a_node("n1", 2))
    assert state.start_at_once(a_demand(1, a_role(cpu=3))) is None
    assert state.used("n1")[0] == 0
    assert state.start_at_once(a_demand(1, a_role())) is not None
    assert state.used("n1")[0] == 1000
    queue(state, a_demand(2, a_role(cpu=2)))
    assert state.start_at_once(a_demand(3, a_role())) is None
