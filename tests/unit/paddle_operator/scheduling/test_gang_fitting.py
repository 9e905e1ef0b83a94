import random
from itertools import product

import pytest

from muster.operator.scheduling.fitting import Kept, fit, fit_on_empty_nodes
from muster.operator.scheduling.gangs import Gang
from muster.operator.scheduling.nodes import Node, may_run_on
from muster.operator.scheduling.room import Room
from tests.parts.gangs import SLOT, gang, node, room, running


@pytest.mark.parametrize(
    ("nodes", "slots", "workers", "missing"),
    [
        ([node("a", 2), node("b", 2)], 1, 4, 0),
        ([node("a", 2), node("b", 1)], 1, 4, 1),
        ([node("a", 3), node("b", 3)], 2, 3, 1),
        ([node("a", 4, pods=1), node("b", 4, pods=1)], 1, 3, 1),
        ([], 1, 1, 1),
    ],
)
def test_pods_are_counted_node_by_node(nodes: list[Node], slots: int, workers: int, missing: int) -> None:
    assert fit(gang("g", workers, slots=slots), room(*nodes)).missing == missing


def test_what_runs_takes_its_room() -> None:
    where = room(node("a", 2))
    where.put_pod(("ns", "other"), running("a"))
    found = fit(gang("g", 2), where)
    assert (found.missing, found.lacking) == (1, frozenset({SLOT}))


def test_the_number_of_pods_can_be_what_is_lacking() -> None:
    assert fit(gang("g", 2), room(node("a", 9, pods=1))).lacking == {"pods"}


def test_without_an_eligible_node_nothing_is_lacking() -> None:
    found = fit(gang("g", 1, pod={"nodeSelector": {"zone": "x"}}), room(node("a", 9)))
    assert (found.missing, found.lacking) == (1, frozenset())


def test_roles_are_placed_in_the_order_that_fits() -> None:
    """Parameter servers may go anywhere, workers only to one node: the workers have to come first."""
    both = gang("g", 2, 2, worker_pod={"nodeSelector": {"zone": "x"}})
    assert not fit(both, room(node("a", 2, labels={"zone": "x"}), node("b", 2))).missing


def test_lower_priority_counts_as_room_only_if_there_is_no_other() -> None:
    where = room(node("a", 2), node("b", 2))
    where.put_pod(("ns", "low"), running("a", 2, priority=-5))
    urgent = gang("g", 4, pod={"priorityClassName": "high"}, priorities={"high": 10})
    assert not fit(urgent, where).missing
    assert set(fit(gang("h", 2), where).nodes.values()) == {"b"}


def test_equal_priority_is_never_preempted() -> None:
    where = room(node("a", 2))
    where.put_pod(("ns", "same"), running("a", 2, priority=10))
    assert fit(gang("g", 1, pod={"priorityClassName": "p"}, priorities={"p": 10}), where).missing == 1


def test_what_an_older_gang_lacks_is_kept_for_it() -> None:
    where = room(node("a", 2), node("b", 2, labels={"zone": "x"}))
    kept = Kept(gang("old", 3, pod={"nodeSelector": {"zone": "x"}}), frozenset({SLOT}))
    assert set(fit(gang("young", 2), where, [kept]).nodes.values()) == {"a"}
    assert fit(gang("young", 3), where, [kept]).missing == 1


def test_other_resources_are_not_kept() -> None:
    kept = Kept(gang("old", 3), frozenset({"example.com/other"}))
    assert not fit(gang("young", 2), room(node("a", 2)), [kept]).missing


def test_empty_nodes_ignore_what_runs_and_what_passes() -> None:
    cordoned = node("a", 2, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    where = room(cordoned)
    where.put_pod(("ns", "other"), running("a", 2))
    assert fit(gang("g", 2), where).missing == 2
    assert not fit_on_empty_nodes(gang("g", 2), where).missing
    assert fit_on_empty_nodes(gang("g", 3), where).missing == 1


def test_a_gang_of_one_role_is_placed_whenever_that_is_possible() -> None:
    """Compared with a search over all placements."""
    chance = random.Random(7)
    for _ in range(200):
        where = room(*(node(name, chance.randrange(4), zone=1) for name in "abc"))
        one = gang("g", chance.randrange(1, 5), slots=chance.randrange(1, 3))
        assert bool(fit(one, where).missing) is not _is_possible(one, where)


def _is_possible(one: Gang, where: Room) -> bool:
    members = one.members[0]
    nodes = [found for found in where.nodes if may_run_on(members.spec, found)]
    return any(
        all(places.count(found) * members.amounts[SLOT] <= found.offers[SLOT] for found in nodes)
        for places in product(nodes, repeat=one.size)
    )
