"""What `together` means, with labels and without: the planner, the cells of a guarantee and admission say the same."""

from dataclasses import replace

import pytest

from muster.domain.specs import Together, Where
from muster.scheduling.cluster_state import ClusterState
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    a_vc,
    gpus,
    message,
    nodes_of,
    queue,
    started,
)

pytestmark = pytest.mark.fast
LEVELS = [Together.RACK, Together.SWITCH, Together.NODE]
IN_ONE_RACK = Where(together=Together.RACK)


def four_nodes_without_labels(*, guaranteed: int = 0) -> ClusterState:
    vcs = [a_vc("bio", guaranteed)] if guaranteed else []
    return a_cluster(*(a_gpu_node(f"n{number}", 1) for number in range(4)), vcs=vcs)


@pytest.mark.parametrize("together", LEVELS)
@pytest.mark.parametrize("share", [1, 0.25])
@pytest.mark.parametrize("guaranteed", [0, 1])
def test_a_single_task_is_together_on_any_node(together: Together, share: float, guaranteed: int) -> None:
    state = four_nodes_without_labels(guaranteed=guaranteed)
    job = a_demand(1, gpus(share), vc="bio" if guaranteed else "", where=Where(together=together))

    assert state.never_fits(job) is None
    assert started(queue(state, job)) == ["j1"]


def test_a_guaranteed_task_takes_the_slot_of_one_that_ended() -> None:
    """The cells remember that the shape did not fit, and look again only at the node that has grown."""
    state = four_nodes_without_labels(guaranteed=1)
    where = Where(together=Together.RACK)
    queue(state, *(a_demand(number, gpus(1), vc="bio", where=where) for number in range(1, 6)))
    assert state.waiting == 1

    state.released("j1")

    assert started(state.cycle(101.0)) == ["j5"]


@pytest.mark.parametrize("together", LEVELS)
def test_a_gang_that_fits_on_one_node_is_together_there(together: Together) -> None:
    state = a_cluster(a_gpu_node("n1", 4), a_gpu_node("n2", 2))
    job = a_demand(1, gpus(1, 4), where=Where(together=together))

    assert state.never_fits(job) is None
    assert set(nodes_of(queue(state, job), "j1")) == {"n1"}


def test_nodes_without_the_label_are_not_together_with_each_other() -> None:
    labelled = [a_gpu_node(f"r{number}", 2, labels={"rack": "r"}) for number in range(2)]
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 2), *labelled)

    plan = queue(state, a_demand(1, gpus(2, 2), where=IN_ONE_RACK))

    assert sorted(nodes_of(plan, "j1")) == ["r0", "r1"]
    assert started(queue(state, a_demand(2, gpus(2, 2), where=IN_ONE_RACK))) == []


def test_admission_names_the_label_that_no_node_has() -> None:
    reason = four_nodes_without_labels().never_fits(a_demand(1, gpus(1, 2), where=IN_ONE_RACK))

    assert reason is not None
    assert reason.message == (
        "its 2 tasks must run in one rack and ask for 2 GPUs, but at most 1 in one rack: no node has a label `rack`,"
        " and a node without it counts alone"
    )


def test_admission_says_what_the_largest_rack_has() -> None:
    nodes = [a_gpu_node(f"n{number}", 2, labels={"rack": "east" if number < 2 else "west"}) for number in range(3)]
    state = a_cluster(*nodes, a_gpu_node("n9", 1))

    reason = state.never_fits(a_demand(1, gpus(1, 5), where=IN_ONE_RACK))

    assert reason is not None
    assert reason.message == (
        "its 5 tasks must run in one rack and ask for 5 GPUs, but at most 4 in one rack: 1 of 4 nodes has no label"
        " `rack`, and a node without it counts alone"
    )


def test_a_gang_that_waits_for_its_rack_is_told_what_one_rack_has_free() -> None:
    nodes = [a_gpu_node(f"n{number}", 2, labels={"rack": "east" if number < 2 else "west"}) for number in range(4)]
    state = a_cluster(*nodes)
    queue(state, *(a_demand(number, gpus(2), where=Where(nodes=(node,))) for number, node in ((1, "n0"), (2, "n2"))))

    queue(state, a_demand(3, gpus(1, 4), where=IN_ONE_RACK))

    assert (
        message(state, "j3") == "needs 4 GPUs for 4 tasks together in one rack; 4 free now, but at most 2 in one rack"
    )


def test_a_label_that_is_given_later_makes_room() -> None:
    state = a_cluster(a_gpu_node("n1", 1), a_gpu_node("n2", 1))
    assert started(queue(state, a_demand(1, gpus(1, 2), where=IN_ONE_RACK))) == []

    for name in ("n1", "n2"):
        state.node_changed(replace(a_gpu_node(name, 1), labels={"rack": "r"}))

    assert started(state.cycle(101.0)) == ["j1"]
