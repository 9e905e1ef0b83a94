"""Where a gang goes: whole or not at all, on few nodes, and where it asked to."""

from dataclasses import replace

import pytest

from muster.domain.specs import Spread, Together, Where
from tests.parts.building import GIB, a_node, a_role
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    gpus,
    nodes_of,
    places,
    queue,
    started,
)

pytestmark = pytest.mark.fast


def test_a_gang_starts_whole_or_not_at_all() -> None:
    state = a_cluster(a_node("n1", 4), a_node("n2", 4))
    assert started(queue(state, a_demand(1, a_role(replicas=9)))) == []
    assert [state.used(name)[0] for name in ("n1", "n2")] == [0, 0]
    state.unqueued("j1")
    assert started(queue(state, a_demand(2, a_role(replicas=8)))) == ["j2"]
    assert [state.used(name)[0] for name in ("n1", "n2")] == [4000, 4000]


def test_a_gang_stays_on_few_nodes_and_fills_the_fullest_that_holds_it() -> None:
    state = a_cluster(a_node("big", 8), a_node("small", 2))
    plan = queue(state, a_demand(1, a_role(replicas=2)), a_demand(2, a_role(replicas=3)))
    assert set(nodes_of(plan, "j1")) == {"small"}
    assert set(nodes_of(plan, "j2")) == {"big"}


def test_a_gang_that_no_node_holds_takes_as_few_as_will_do() -> None:
    state = a_cluster(a_gpu_node("n1", 2), a_gpu_node("n2", 8), a_gpu_node("n3", 2), a_gpu_node("n4", 4))
    assert sorted(set(nodes_of(queue(state, a_demand(1, gpus(1, 12))), "j1"))) == ["n2", "n4"]


def test_best_fit_keeps_the_large_hole_open() -> None:
    state = a_cluster(a_gpu_node("n1", 8), a_gpu_node("n2", 3), a_gpu_node("n3", 4))
    plan = queue(state, a_demand(1, gpus(2)), a_demand(2, gpus(8)))
    assert (nodes_of(plan, "j1"), nodes_of(plan, "j2")) == (["n2"], ["n1"])


def test_cpu_tasks_leave_nodes_with_free_gpus_alone_while_others_will_do() -> None:
    state = a_cluster(a_node("cards", 8, 32 * GIB, "A100"), a_node("plain", 1))
    plan = queue(state, a_demand(1, a_role()), a_demand(2, a_role()))
    assert (nodes_of(plan, "j1"), nodes_of(plan, "j2")) == (["plain"], ["cards"])


def test_devices_are_given_once_and_ascending() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    plan = queue(state, a_demand(1, gpus(2, 2)))
    assert places(plan, "j1") == {"worker-0": ("n1", (0, 1)), "worker-1": ("n1", (2, 3))}
    assert state.used("n1")[2] == {index: ["j1"] for index in range(4)}


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
    state = a_cluster(*(a_gpu_node(f"n{index}", 1, model) for index, model in enumerate(models)))
    assert places(queue(state, a_demand(1, gpus(1, 1, *wanted))), "j1") == {"worker-0": (node, (0,))}


def test_the_second_choice_is_taken_when_the_first_is_not_free() -> None:
    state = a_cluster(a_gpu_node("n1", 4, "A100"), a_gpu_node("n2", 4, "V100"))
    plan = queue(state, a_demand(1, gpus(3, 1, "A100", "V100")), a_demand(2, gpus(3, 1, "A100", "V100")))
    assert (nodes_of(plan, "j1"), nodes_of(plan, "j2")) == (["n1"], ["n2"])


def test_all_tasks_of_a_gang_get_one_model() -> None:
    nodes = [a_gpu_node("n1", 2, "A100"), a_gpu_node("n2", 4, "A100")]
    state = a_cluster(*nodes, a_gpu_node("n3", 4, "V100"), a_gpu_node("n4", 4, "V100"))
    assert sorted(set(nodes_of(queue(state, a_demand(1, gpus(4, 2))), "j1"))) == ["n3", "n4"]


def test_devices_of_one_task_are_of_one_model() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "V100", "V100"))
    assert places(queue(state, a_demand(1, gpus(2))), "j1") == {"worker-0": ("n1", (1, 2))}
    assert started(queue(state, a_demand(2, gpus(2)))) == []


def test_a_task_that_takes_any_model_leaves_the_one_that_another_needs() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100", "V100", "V100", "V100", "V100"))
    gang = a_demand(1, a_role("any", gpus=2), a_role("picky", gpus=2, models=("A100",)))
    assert state.never_fits(gang) is None
    assert places(queue(state, gang), "j1") == {"picky-0": ("n1", (0, 1)), "any-0": ("n1", (2, 3))}


@pytest.mark.parametrize(
    ("where", "node"),
    [
        (Where(nodes=("n3", "n2")), "n2"),
        (Where(not_nodes=("n1",)), "n2"),
        (Where(labels={"disk": "fast"}), "n3"),
        (Where(labels={"disk": "fast"}, not_nodes=("n1",)), "n3"),
    ],
)
def test_only_nodes_that_suit_are_taken(where: Where, node: str) -> None:
    """The smallest comes first where nothing else decides."""
    state = a_cluster(
        a_gpu_node("n1", 2), a_gpu_node("n2", 4), a_gpu_node("n3", 8, labels={"disk": "fast"}), a_gpu_node("n4", 1)
    )
    assert nodes_of(queue(state, a_demand(1, gpus(2), where=where)), "j1") == [node]


def test_tasks_that_must_be_apart_take_a_node_each() -> None:
    state = a_cluster(a_gpu_node("n1", 8), a_gpu_node("n2", 8))
    apart = Where(spread=Spread.APART)
    plan = queue(state, a_demand(1, gpus(1, 3), where=apart), a_demand(2, gpus(1, 2), where=apart))
    assert started(plan) == ["j2"]
    assert sorted(nodes_of(plan, "j2")) == ["n1", "n2"]


@pytest.mark.parametrize("together", [Together.RACK, Together.SWITCH])
def test_a_gang_stays_in_one_rack_or_under_one_switch(together: Together) -> None:
    nodes = [a_gpu_node(f"n{i}", 4, labels={str(together): "east" if i < 2 else "west"}) for i in range(4)]
    state = a_cluster(*nodes)
    queue(state, a_demand(1, gpus(1), where=Where(nodes=("n0",))))
    plan = queue(state, a_demand(2, gpus(4, 2), where=Where(together=together)))
    assert sorted(nodes_of(plan, "j2")) == ["n2", "n3"]
    assert started(queue(state, a_demand(3, gpus(2, 3), where=Where(together=together)))) == ["j3"]
    assert started(queue(state, a_demand(4, gpus(1, 2), where=Where(together=together)))) == []


@pytest.mark.parametrize("share", [1, 0.5])
def test_a_gang_on_one_node_waits_for_one_that_holds_all_of_it(share: float) -> None:
    state = a_cluster(a_gpu_node("n1", 1), a_gpu_node("n2", 1), a_gpu_node("n3", 2))
    where = Where(together=Together.NODE)
    tasks = 2 if share == 1 else 4
    assert set(nodes_of(queue(state, a_demand(1, gpus(share, tasks), where=where)), "j1")) == {"n3"}
    assert started(queue(state, a_demand(2, gpus(share, tasks), where=where))) == []


# Parts of a card


def test_two_halves_share_one_card_and_a_third_takes_the_next() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    plan = queue(state, *(a_demand(number, gpus(0.5)) for number in (1, 2, 3)))
    assert [places(plan, f"j{number}")["worker-0"][1] for number in (1, 2, 3)] == [(0,), (0,), (1,)]
    assert state.device_shares("n1") == {0: 1000, 1: 500}


def test_a_part_goes_to_the_fullest_card_that_still_has_it() -> None:
    state = a_cluster(a_gpu_node("n1", 3))
    queue(state, a_demand(1, gpus(0.7)))
    queue(state, a_demand(2, gpus(0.5)))
    plan = queue(state, a_demand(3, gpus(0.25)), a_demand(4, gpus(0.25)))
    assert [places(plan, f"j{number}")["worker-0"][1] for number in (3, 4)] == [(0,), (1,)]


def test_a_shared_card_is_not_given_whole_and_a_whole_one_is_not_shared() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    plan = queue(state, a_demand(1, gpus(0.5)), a_demand(2, gpus(1)), a_demand(3, gpus(1)), a_demand(4, gpus(0.6)))
    assert started(plan) == ["j1", "j2"]
    state.released("j2")
    assert started(state.cycle(101.0)) == ["j3"]
    state.released("j1")
    assert started(state.cycle(102.0)) == ["j4"]


def test_a_card_is_whole_again_when_its_last_part_is_given_back() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(0.5)), a_demand(2, gpus(0.5)), a_demand(3, gpus(1)))
    state.released("j1")
    assert started(state.cycle(101.0)) == []
    state.released("j2")
    assert started(state.cycle(102.0)) == ["j3"]


# Nodes that change


def test_what_a_job_holds_survives_a_change_of_its_node() -> None:
    state = a_cluster(a_node("n1", 4, 32 * GIB, "A100", "A100"))
    queue(state, a_demand(1, gpus(1)))
    state.node_changed(a_node("n1", 8, 32 * GIB, "A100", "A100", "A100"))
    plan = queue(state, a_demand(2, gpus(2)))
    assert places(plan, "j2") == {"worker-0": ("n1", (1, 2))}
    state.node_removed("n1")
    state.released("j1")
    state.node_changed(a_node("n1", 8, 32 * GIB, "A100", "A100", "A100"))
    assert state.used("n1")[2] == {1: ["j2"], 2: ["j2"]}
    assert started(queue(state, a_demand(3, gpus(1)))) == ["j3"]


def test_a_node_that_comes_lets_a_gang_start_that_waited_for_it() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    assert started(queue(state, a_demand(1, gpus(4, 2)))) == []
    state.node_changed(a_gpu_node("n2", 4))
    assert started(state.cycle(101.0)) == ["j1"]


def test_a_label_that_a_node_gets_lets_a_job_start() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    assert started(queue(state, a_demand(1, gpus(1), where=Where(labels={"disk": "fast"})))) == []
    state.node_changed(replace(a_gpu_node("n1", 4), labels={"disk": "fast"}))
    assert started(state.cycle(101.0)) == ["j1"]


# Without a queue


def test_a_job_that_has_just_come_starts_at_once_only_when_nobody_waits() -> None:
    state = a_cluster(a_node("n1", 2))
    assert state.start_at_once(a_demand(1, a_role(cpu=3)), 100.0) is None
    assert state.used("n1")[0] == 0
    start = state.start_at_once(a_demand(1, a_role()), 100.0)
    assert start is not None
    assert state.is_planned(start)
    assert state.used("n1")[0] == 1000
    queue(state, a_demand(2, a_role(cpu=2)))
    assert state.start_at_once(a_demand(3, a_role()), 100.0) is None
    state.released("j1")
    assert not state.is_planned(start)
