from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.kubernetes.amounts import total
from muster.operator.scheduling.gangs import Gang
from muster.operator.scheduling.guard import Guard, HoldReason
from muster.operator.scheduling.room import Footprint, Room
from tests.parts.gangs import SLOT, gang, node, room, running

_NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z, when the jobs of these tests are created."""
_LATER = _NOW + 1000


class _Cluster:
    """A guard with nodes, and the pods as the API server would report them."""

    def __init__(self, *nodes: Any) -> None:
        self.room = room(*nodes)
        self.guard = Guard(self.room)

    def create(self, one: Gang, *, held: bool = False) -> None:
        for members in one.members:
            for key in members.keys:
                self.room.put_pod(key, Footprint(members.amounts, attempt=one.attempt, is_held=held))

    def bind(self, one: Gang, *nodes: str) -> None:
        """The first pods are bound to these nodes."""
        for key, name in zip(one.pods, nodes, strict=False):
            pod = self.room.pod(key)
            assert pod is not None
            self.room.put_pod(key, replace(pod, node=name, is_held=False))

    def remove(self, one: Gang) -> None:
        for key in one.pods:
            self.room.put_pod(key, None)

    def reason(self, one: Gang, now: float = _NOW) -> HoldReason | None:
        hold = self.guard.hold(one, now)
        return hold.reason if hold else None


def test_a_gang_that_fits_is_released_at_once() -> None:
    cluster = _Cluster(node("a", 2), node("b", 2))
    assert cluster.guard.hold(gang("g", 4), _NOW) is None


def test_with_room_for_three_of_four_none_is_released() -> None:
    cluster = _Cluster(node("a", 3), node("b", 3))
    cluster.room.put_pod(("ns", "other"), running("a", 3))
    hold = cluster.guard.hold(gang("g", 4), _NOW)
    assert hold is not None
    assert hold.reason is HoldReason.WAITS
    assert hold.message == (
        "The pods are held back until all 4 of the gang can start at once: they need 4 example.com/slot, "
        "and too little of the 6 on the nodes is free"
    )
    cluster.room.put_pod(("ns", "other"), None)
    assert cluster.guard.due_at() is not None
    assert cluster.guard.sweep(_NOW) == [("ns", "g")]
    assert cluster.reason(gang("g", 4)) is None


def test_a_gang_that_can_never_fit_says_so() -> None:
    cluster = _Cluster(node("a", 3))
    hold = cluster.guard.hold(gang("g", 4), _NOW)
    assert hold is not None
    assert hold.reason is HoldReason.TOO_LARGE
    assert "they need 4 example.com/slot, and the nodes have 3" in hold.message
    cluster.room.put_node(node("b", 1))
    assert cluster.guard.sweep(_NOW) == [("ns", "g")]


def test_only_nodes_that_the_pods_may_use_are_counted_and_bytes_are_readable() -> None:
    cluster = _Cluster(node("a", 9, memory=2**30), node("b", 9, labels={"pool": "x"}, memory=3 * 2**29))
    spec = {"nodeSelector": {"pool": "x"}, "containers": [{"resources": {"requests": {"memory": "2Gi"}}}]}
    hold = cluster.guard.hold(gang("g", 1, pod=spec), _NOW)
    assert hold is not None
    assert hold.message.endswith("they need 2Gi memory, and the nodes have 1.5Gi")


def test_a_gang_without_an_eligible_node_says_so() -> None:
    hold = _Cluster(node("a", 3)).guard.hold(gang("g", 1, pod={"nodeSelector": {"a": "b"}}), _NOW)
    assert hold is not None
    assert hold.reason is HoldReason.TOO_LARGE
    assert "no node matches" in hold.message


def test_what_was_released_counts_before_its_pods_exist() -> None:
    cluster = _Cluster(node("a", 2), node("b", 2))
    assert cluster.reason(gang("first", 3)) is None
    assert cluster.reason(gang("second", 3)) is HoldReason.WAITS
    assert cluster.reason(gang("first", 3)) is None


def test_the_binding_replaces_the_assumption() -> None:
    cluster = _Cluster(node("a", 2), node("b", 2))
    first = gang("first", 2)
    assert cluster.reason(first) is None
    cluster.create(first)
    cluster.bind(first, "b", "b")
    assert cluster.reason(gang("second", 2)) is None
    assert cluster.reason(gang("third", 1)) is HoldReason.WAITS


def test_a_job_that_ends_before_its_pods_exist_gives_its_room_back() -> None:
    cluster = _Cluster(node("a", 2))
    assert cluster.reason(gang("first", 2)) is None
    assert cluster.reason(gang("second", 2)) is HoldReason.WAITS
    cluster.guard.forget("uid-first")
    assert cluster.guard.sweep(_NOW) == [("ns", "second")]


def test_two_jobs_of_which_one_fits_run_one_after_the_other() -> None:
    cluster = _Cluster(node("a", 2), node("b", 1))
    first, second = gang("first", 3), gang("second", 2)
    assert cluster.reason(first) is None
    cluster.create(first)
    cluster.bind(first, "a", "a", "b")
    assert cluster.reason(second) is HoldReason.WAITS
    cluster.create(second, held=True)
    assert cluster.reason(second) is HoldReason.WAITS
    cluster.remove(first)
    cluster.guard.forget("uid-first")
    assert cluster.guard.sweep(_NOW) == [("ns", "second")]
    assert cluster.reason(second) is None


def test_higher_priority_and_then_age_decide_who_is_first() -> None:
    cluster = _Cluster(node("a", 2))
    cluster.room.put_pod(("ns", "other"), running("a", 2, priority=100))
    priorities = {"": 0, "high": 10}
    old = gang("old", 2, created="2025-12-31T23:59:00Z")
    young = gang("young", 2)
    urgent = gang("urgent", 2, pod={"priorityClassName": "high"}, priorities=priorities)
    for one in (young, old, urgent):
        assert cluster.reason(one) is HoldReason.WAITS
    order = []
    for _ in range(3):
        cluster.room.put_pod(("ns", "other"), None)
        order += cluster.guard.sweep(_NOW)
        released = next(one for one in (old, young, urgent) if one.key == order[-1])
        cluster.guard.forget(released.uid)
        cluster.room.put_pod(("ns", "other"), running("a", 2, priority=100))
    assert [name for _, name in order] == ["urgent", "old", "young"]


def test_a_newcomer_does_not_take_what_has_become_free_for_those_before_it() -> None:
    cluster = _Cluster(node("a", 2))
    cluster.room.put_pod(("ns", "other"), running("a", 2))
    assert cluster.reason(gang("first", 2)) is HoldReason.WAITS
    cluster.room.put_pod(("ns", "other"), None)
    assert cluster.reason(gang("second", 2, created="2026-01-01T00:00:01Z")) is HoldReason.WAITS
    assert ("ns", "first") in cluster.guard.sweep(_NOW)
    assert cluster.reason(gang("first", 2)) is None


def test_a_small_job_overtakes_a_large_one_for_a_while_only() -> None:
    cluster = _Cluster(node("a", 4))
    cluster.room.put_pod(("ns", "other"), running("a", 2))
    assert cluster.reason(gang("large", 4)) is HoldReason.WAITS
    small = gang("small", 1, created="2026-01-01T00:00:01Z")
    assert cluster.reason(small) is None
    cluster.guard.forget(small.uid)
    hold = cluster.guard.hold(gang("late", 1, created="2026-01-01T00:10:00Z"), _LATER)
    assert hold is not None
    assert "kept for a job that comes first" in hold.message


def test_a_job_that_can_never_fit_keeps_nothing_from_others() -> None:
    cluster = _Cluster(node("a", 4))
    assert cluster.reason(gang("huge", 9), _LATER) is HoldReason.TOO_LARGE
    assert cluster.reason(gang("small", 2, created="2026-01-01T00:10:00Z"), _LATER) is None


def test_a_restarted_operator_sees_from_the_pods_what_was_released() -> None:
    cluster = _Cluster(node("a", 4))
    one = gang("g", 4)
    for key in one.pods[:2]:
        cluster.room.put_pod(key, running("a"))
    assert cluster.reason(one) is None
    assert cluster.reason(gang("second", 1)) is HoldReason.WAITS


def test_a_restarted_operator_keeps_holding_what_was_held() -> None:
    cluster = _Cluster(node("a", 4))
    cluster.room.put_pod(("ns", "other"), running("a", 1))
    one = gang("g", 4)
    cluster.create(one, held=True)
    assert cluster.reason(one) is HoldReason.WAITS


def test_pods_of_an_earlier_attempt_release_nothing() -> None:
    cluster = _Cluster(node("a", 2))
    one = gang("g", 2, status={"restarts": 1})
    cluster.room.put_pod(one.pods[0], running("a", attempt="0"))
    assert cluster.reason(one) is HoldReason.WAITS


def _stuck(cluster: _Cluster, one: Gang, *, bound: str = "a") -> None:
    assert cluster.reason(one) is None
    cluster.create(one)
    cluster.bind(one, *([bound] if bound else []))
    pod = cluster.room.pod(one.pods[-1])
    assert pod is not None
    cluster.room.put_pod(one.pods[-1], replace(pod, unschedulable_at=_NOW))
    assert cluster.reason(one) is None


def test_a_gang_that_is_stuck_is_taken_back_and_tried_again_after_a_pause() -> None:
    cluster = _Cluster(node("a", 2))
    one = gang("g", 2)
    _stuck(cluster, one)
    assert cluster.reason(one, _NOW + 10) is None
    assert cluster.guard.due_at() == _NOW + 120
    assert cluster.guard.sweep(_NOW + 120) == [("ns", "g")]
    hold = cluster.guard.hold(one, _NOW + 120)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN_BACK
    assert hold.is_new
    cluster.remove(one)
    hold = cluster.guard.hold(one, _NOW + 121)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN_BACK
    assert not hold.is_new
    assert cluster.reason(gang("other", 2), _NOW + 122) is None
    cluster.guard.forget("uid-other")
    assert cluster.guard.due_at() is not None
    assert cluster.guard.sweep(_NOW + 180) == [("ns", "g")]
    assert cluster.reason(one, _NOW + 180) is None


def test_of_two_gangs_that_block_each_other_only_the_later_is_taken_back() -> None:
    cluster = _Cluster(node("a", 4))
    old, young = gang("old", 2), gang("young", 2, created="2026-01-01T00:00:01Z")
    for one in (old, young):
        _stuck(cluster, one)
    assert cluster.guard.sweep(_NOW + 121) == [("ns", "young")]
    assert cluster.reason(old, _NOW + 121) is None
    assert cluster.reason(young, _NOW + 121) is HoldReason.TAKEN_BACK
    assert cluster.reason(old, _NOW + 122) is None
    assert cluster.guard.due_at() == _NOW + 241
    assert cluster.reason(old, _NOW + 241) is HoldReason.TAKEN_BACK


def test_a_gang_of_which_some_pods_are_refused_makes_way_for_others() -> None:
    cluster = _Cluster(node("a", 4))
    one = gang("g", 2, refused_at=_NOW)
    assert cluster.reason(one) is None
    cluster.room.put_pod(one.pods[0], running("a"))
    assert cluster.reason(one, _NOW + 100) is None
    hold = cluster.guard.hold(one, _NOW + 120)
    assert hold is not None
    assert hold.is_new
    assert hold.bars_pods
    cluster.remove(one)
    cluster.guard.withdraw(one.uid)
    hold = cluster.guard.hold(one, _NOW + 121)
    assert hold is not None
    assert (hold.bars_pods, hold.is_new) == (True, False)
    assert cluster.reason(gang("g", 2), _NOW + 181) in (None, HoldReason.TAKEN_BACK)
    cluster.guard.sweep(_NOW + 181)
    assert cluster.reason(gang("g", 2), _NOW + 182) is None


def test_a_gang_whose_pods_wait_behind_gates_for_refused_ones_makes_way_too() -> None:
    cluster = _Cluster(node("a", 4))
    one = gang("g", 2, refused_at=_NOW)
    assert cluster.reason(one) is None
    cluster.room.put_pod(one.pods[0], Footprint(one.members[0].amounts, attempt=one.attempt, is_held=True))
    assert cluster.reason(one, _NOW + 100) is None
    assert cluster.guard.due_at() == _NOW + 120
    hold = cluster.guard.hold(one, _NOW + 120)
    assert hold is not None
    assert (hold.is_new, hold.bars_pods) == (True, True)


def test_a_large_job_runs_although_small_ones_keep_coming() -> None:
    """Four slots, and every ten seconds a job for one of them, which takes it for half a minute."""
    cluster = _Cluster(node("a", 4))
    large = gang("large", 4, created="2026-01-01T00:01:00Z")
    at_work: list[tuple[float, Gang]] = []
    waiting: list[Gang] = []
    for step in range(120):
        now = _NOW + 10 * step
        for ends, one in [found for found in at_work if found[0] <= now]:
            at_work.remove((ends, one))
            cluster.guard.forget(one.uid)
        created = f"2026-01-01T00:{step // 6:02}:{step % 6}0Z"
        waiting += [large] if step == 6 else [gang(f"small-{step}", 1, created=created)]
        cluster.guard.sweep(now)
        for one in list(waiting):
            if cluster.guard.hold(one, now) is None:
                waiting.remove(one)
                at_work.append((now + 40, one))
        if any(one is large for _, one in at_work):
            break
    else:
        raise AssertionError("the large job was starved")


def test_a_gang_of_which_nothing_is_bound_and_nobody_waits_is_left_to_the_scheduler() -> None:
    """It may be what makes the cluster grow."""
    cluster = _Cluster(node("a", 2))
    one = gang("g", 2)
    _stuck(cluster, one, bound="")
    assert cluster.guard.sweep(_NOW + 500) == []
    assert cluster.reason(one, _NOW + 500) is None
    assert cluster.guard.due_at() is None
    assert cluster.reason(gang("other", 2), _NOW + 501) is HoldReason.WAITS
    assert cluster.guard.due_at() is not None
    assert cluster.guard.sweep(_NOW + 501) == [("ns", "g")]


def test_a_gang_that_runs_is_never_taken_back() -> None:
    cluster = _Cluster(node("a", 2))
    one = gang("g", 2, started=True)
    _stuck(cluster, one)
    assert cluster.guard.sweep(_NOW + 500) == []
    assert cluster.reason(one, _NOW + 500) is None


def test_an_elastic_job_needs_room_for_its_smallest_size_only() -> None:
    cluster = _Cluster(node("a", 2))
    assert cluster.reason(gang("fixed", 4, least=2)) is HoldReason.TOO_LARGE
    assert cluster.reason(gang("elastic", 4, least=2, elastic=1)) is None


def test_a_job_may_say_how_many_of_its_pods_suffice() -> None:
    assert _Cluster(node("a", 2)).reason(gang("g", 3, 1, schedulingPolicy={"minAvailable": 2})) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2)), min_size=1, max_size=8),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_gangs_start_as_a_whole_and_all_that_can_run_do(sizes: Any, capacity: Any, chance: Any) -> None:
    cluster = _Cluster(*(node(f"n{index}", slots) for index, slots in enumerate(capacity)))
    gangs = [gang(f"g{index}", workers, slots=slots) for index, (workers, slots) in enumerate(sizes)]
    waiting, at_work = list(gangs), []
    for _ in range(3 * len(gangs)):
        chance.shuffle(waiting)
        for one in list(waiting):
            if cluster.guard.hold(one, _NOW) is None:
                waiting.remove(one)
                at_work.append(one)
        _check(cluster.room)
        if not at_work:
            break
        done = at_work.pop(chance.randrange(len(at_work)))
        cluster.guard.forget(done.uid)
        cluster.guard.sweep(_NOW)
    assert not at_work
    assert all(cluster.reason(one) is HoldReason.TOO_LARGE for one in waiting)


def _check(where: Room) -> None:
    """No node has more than it offers."""
    for one in where.nodes:
        used = total([where.used(one.name)])
        assert used.get(SLOT, 0) <= one.offers[SLOT]
