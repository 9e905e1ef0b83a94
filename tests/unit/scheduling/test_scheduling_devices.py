"""Devices other than GPUs: which a task gets, who waits, who makes room, and what they are told."""

from dataclasses import replace

import pytest

from muster.domain.nodes import Node
from muster.domain.resources import Resources
from muster.domain.specs import Priority, Role, Spread, Together, Where
from muster.scheduling.ordering.order_policies import Overtaking, Policy
from muster.scheduling.ordering.ranking import Arrival
from muster.scheduling.plan import Plan
from tests.parts.building import GIB, a_node, a_role, with_extended
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    a_vc,
    codes,
    message,
    nodes_of,
    preempted,
    queue,
    started,
)

pytestmark = pytest.mark.fast
FPGA, DSP = "xilinx.com/fpga", "example.com/dsp"


def fpgas(count: int = 1, replicas: int = 1, *, gpus: int = 0, cpu: float = 1) -> Role:
    return a_role(replicas=replicas, gpus=gpus, cpu=cpu, extended=((FPGA, count),))


def a_board(name: str, count: int = 2, *, gpus: int = 0) -> Node:
    return with_extended(a_gpu_node(name, gpus), count)


def paths(plan: Plan, job_id: str) -> list[str]:
    start = next(start for start in plan.starts if start.job_id == job_id)
    return [path for slot in start.slots for device in slot.extended for path in device.paths]


def test_a_task_gets_devices_of_its_node_and_the_next_one_gets_others() -> None:
    state = a_cluster(a_node("n1"), a_board("n2", 3))
    plan = queue(state, a_demand(1, fpgas(2)), a_demand(2, fpgas(1)))
    assert paths(plan, "j1") == ["/dev/n2-fpga0", "/dev/n2-fpga1"]
    assert paths(plan, "j2") == ["/dev/n2-fpga2"]
    assert state.extended_used("n2") == {(FPGA, 0): "j1", (FPGA, 1): "j1", (FPGA, 2): "j2"}


def test_who_finds_none_free_waits_and_starts_on_those_that_become_free() -> None:
    state = a_cluster(a_board("n1", 1))
    plan = queue(state, a_demand(1, fpgas()), a_demand(2, fpgas()))
    assert started(plan) == ["j1"]
    assert codes(state, "j2") == ["no-free-device"]
    assert message(state, "j2") == "needs 1 xilinx.com/fpga; 0 free now"
    state.released("j1")
    assert paths(state.cycle(101.0), "j2") == ["/dev/n1-fpga0"]


def test_devices_that_are_free_on_different_nodes_are_not_enough_for_one_task() -> None:
    state = a_cluster(a_board("n1", 2), a_board("n2", 2))
    plan = queue(state, a_demand(1, fpgas(1, 2), where=Where(spread=Spread.APART)), a_demand(2, fpgas(2)))
    assert started(plan) == ["j1"]
    assert "but not 2 xilinx.com/fpga on one node" in message(state, "j2")


def test_a_gang_is_spread_over_the_nodes_that_have_devices() -> None:
    state = a_cluster(a_node("n0", 64, 64 * GIB), a_board("n1", 2), a_board("n2", 1))
    plan = queue(state, a_demand(1, fpgas(1, 3)))
    assert sorted(nodes_of(plan, "j1")) == ["n1", "n1", "n2"]
    assert sorted(paths(plan, "j1")) == ["/dev/n1-fpga0", "/dev/n1-fpga1", "/dev/n2-fpga0"]


def test_a_gang_that_must_be_together_waits_for_one_node_with_all_its_devices() -> None:
    state = a_cluster(a_board("n1", 2), a_board("n2", 3))
    plan = queue(state, a_demand(1, fpgas(1, 3), where=Where(together=Together.NODE)))
    assert set(nodes_of(plan, "j1")) == {"n2"}


def test_gpus_and_other_devices_are_given_on_one_node() -> None:
    state = a_cluster(a_gpu_node("n1", 4), a_board("n2", 1, gpus=2), a_board("n3", 1))
    plan = queue(state, a_demand(1, a_role("easy", gpus=2), fpgas(1, gpus=1)))
    assert sorted(nodes_of(plan, "j1")) == ["n1", "n2"]


def test_a_task_without_devices_leaves_the_nodes_that_have_some_to_others() -> None:
    state = a_cluster(a_board("n1", 1), a_gpu_node("n2", 0))
    assert nodes_of(queue(state, a_demand(1, a_role(cpu=64))), "j1") == ["n2"]


def test_a_more_important_job_preempts_one_that_has_the_device_and_no_other() -> None:
    state = a_cluster(*(a_gpu_node(f"c{number}", 0) for number in range(30)), a_board("n1", 1))
    others = [a_demand(number, a_role(cpu=64), priority=Priority.LOW) for number in range(30)]
    queue(state, *others, a_demand(40, fpgas(), priority=Priority.LOW))
    plan = queue(state, a_demand(41, fpgas(), priority=Priority.URGENT), at=200.0)
    assert preempted(plan) == ["j40"]
    assert not plan.starts, "the device is still in use"
    state.released("j40")
    assert paths(state.cycle(201.0), "j41") == ["/dev/n1-fpga0"]


def test_devices_that_are_held_stay_held_over_a_restart_and_when_the_node_changes() -> None:
    node = a_board("n1", 2)
    first = a_cluster(node)
    slots = queue(first, a_demand(1, fpgas())).starts[0].slots
    again = a_cluster(node)
    again.holds(a_demand(1, fpgas()), slots, 100.0)
    again.node_changed(replace(node, labels={"rack": "r1"}))
    assert paths(queue(again, a_demand(2, fpgas())), "j2") == ["/dev/n1-fpga1"]


def test_devices_are_the_same_by_their_files_when_their_order_changes() -> None:
    node = a_board("n1", 2)
    state = a_cluster(node)
    assert paths(queue(state, a_demand(1, fpgas())), "j1") == ["/dev/n1-fpga0"]
    one, other = node.capacity.extended
    swapped = (replace(other, index=0), replace(one, index=1))
    state.node_changed(replace(node, capacity=replace(node.capacity, extended=swapped)))
    assert paths(queue(state, a_demand(2, fpgas())), "j2") == ["/dev/n1-fpga1"]
    state.released("j1")
    assert paths(queue(state, a_demand(3, fpgas())), "j3") == ["/dev/n1-fpga0"]


def test_a_device_that_is_out_of_service_is_given_to_nobody_and_named_in_the_reason() -> None:
    node = a_board("n1", 2)
    bad = replace(node.capacity.extended[0], out_of_service="/dev/n1-fpga0 does not exist")
    broken = replace(node, capacity=replace(node.capacity, extended=(bad, node.capacity.extended[1])))
    state = a_cluster(broken.in_service())
    plan = queue(state, a_demand(1, fpgas()), a_demand(2, fpgas()))
    assert paths(plan, "j1") == ["/dev/n1-fpga1"]
    assert message(state, "j2") == "needs 1 xilinx.com/fpga; 0 free now; 1 more is out of service"
    assert state.never_fits(a_demand(3, fpgas(2))) is None, "it may come back"
    state.node_changed(node.in_service())
    assert paths(state.cycle(101.0), "j2") == ["/dev/n1-fpga0"]


@pytest.mark.parametrize(
    ("role", "words"),
    [
        (
            a_role(extended=((DSP, 1),)),
            "asks for 1 example.com/dsp, and no node has one: the cluster offers xilinx.com",
        ),
        (fpgas(3), "asks for 3 xilinx.com/fpga, and no node has that; the largest that could run: 64 CPU"),
        (fpgas(1, 3), "ask for 3 xilinx.com/fpga, but the whole cluster has 2"),
        (fpgas(1, cpu=65), "asks for 65 CPU, and no node has that"),
    ],
)
def test_what_never_fits_is_refused_with_what_there_is(role: Role, words: str) -> None:
    reason = a_cluster(a_board("n1", 2), a_node("n2")).never_fits(a_demand(1, role))
    assert reason is not None
    assert words in reason.message, reason.message


def test_a_cluster_without_devices_says_so() -> None:
    reason = a_cluster(a_node("n1")).never_fits(a_demand(1, fpgas()))
    assert reason is not None
    assert reason.message.endswith("the cluster offers no devices other than GPUs")


def test_a_virtual_cluster_runs_jobs_with_devices_within_its_guarantee() -> None:
    """Its cells have the devices of their nodes, also where it may not borrow."""
    state = a_cluster(a_board("n1", 1, gpus=2), a_board("n2", 1, gpus=2), vcs=[a_vc("art", 2, borrows=False)])
    demand = a_demand(1, fpgas(1, gpus=1), vc="art")
    plan = queue(state, demand)
    (slot,) = plan.starts[0].slots
    assert paths(plan, "j1") == [f"/dev/{slot.node}-fpga0"]


def test_a_long_job_behind_a_reservation_does_not_take_the_reserved_devices() -> None:
    state = a_cluster(a_board("n1", 2))
    state.follow(Policy("easy", Arrival(), Overtaking.RESERVED))
    queue(state, a_demand(1, fpgas(1), time_limit_s=50.0))
    plan = queue(state, a_demand(2, fpgas(2)), a_demand(3, fpgas(1)), a_demand(4, fpgas(1), time_limit_s=20.0))
    assert started(plan) == ["j4"]


def test_resources_without_devices_are_as_before() -> None:
    assert Resources(1000) == Resources(1000, extended=())
    assert a_node("n1").in_service().at_best() == a_node("n1")
