from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from muster.operator.scheduling.room import GATE, Booking, Footprint, footprint
from tests.parts.gangs import SLOT, node, room, running

_KEY = ("ns", "job-worker-0")
_AMOUNTS = {SLOT: 1000, "pods": 1000}
_ASSUMED = Booking("a", _AMOUNTS)
_UNBOUND = Footprint(_AMOUNTS, attempt="0")


def _pod(status: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": {SLOT: 1}}}
    return {
        "metadata": {"labels": {"batch.paddlepaddle.org/attempt": "2"}, **(metadata or {})},
        "spec": {"containers": [container], **spec},
        "status": status or {},
    }


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (_pod(), {}),
        (_pod(nodeName="a"), {"node": "a"}),
        (_pod({"nominatedNodeName": "b"}), {"node": "b"}),
        (_pod(priority=7), {"priority": 7}),
        (_pod(schedulingGates=[{"name": GATE}]), {"is_held": True}),
        (_pod(schedulingGates=[{"name": "queue"}]), {"is_held_by_others": True}),
        (
            _pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {}}),
            {"is_leaving": True, "attempt": ""},
        ),
        (
            _pod(
                {
                    "conditions": [
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "reason": "Unschedulable",
                            "lastTransitionTime": "1970-01-01T00:01:00Z",
                        }
                    ]
                }
            ),
            {"unschedulable_at": 60.0},
        ),
    ],
)
def test_a_pod_is_read_for_what_it_takes(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    assert footprint(raw) == replace(Footprint(_AMOUNTS, attempt="2"), **expected)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_nothing(phase: str) -> None:
    assert footprint(_pod({"phase": phase}, nodeName="a")) is None


def _used(found: Any) -> dict[str, int]:
    return {name: found.used(name).get(SLOT, 0) // 1000 for name in ("a", "b")}


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], {"a": 1, "b": 0}),
        ([_UNBOUND], {"a": 1, "b": 0}),
        ([_UNBOUND, running("b")], {"a": 0, "b": 1}),
        ([_UNBOUND, running("a")], {"a": 1, "b": 0}),
        ([_UNBOUND, running("b"), None], {"a": 0, "b": 0}),
        ([_UNBOUND, None], {"a": 0, "b": 0}),
        ([replace(_UNBOUND, is_held=True)], {"a": 1, "b": 0}),
        ([replace(_UNBOUND, is_held_by_others=True)], {"a": 0, "b": 0}),
    ],
)
def test_an_assumption_lasts_until_the_pods_fate_is_known(
    reports: list[Footprint | None], expected: dict[str, int]
) -> None:
    found = room(node("a", 4), node("b", 4))
    found.assume(_KEY, _ASSUMED)
    for report in reports:
        found.put_pod(_KEY, report)
    assert _used(found) == expected


def test_an_earlier_pod_of_the_same_name_takes_its_own_room_until_it_is_gone() -> None:
    found = room(node("a", 4), node("b", 4))
    leaving = running("b", is_leaving=True)
    found.put_pod(_KEY, leaving)
    found.assume(_KEY, _ASSUMED)
    found.put_pod(_KEY, replace(leaving, priority=1))
    assert _used(found) == {"a": 1, "b": 1}
    found.put_pod(_KEY, None)
    assert _used(found) == {"a": 1, "b": 0}


def test_room_grows_only_when_something_may_fit_that_did_not_before() -> None:
    found = room(node("a", 4))
    steps: list[tuple[Callable[[], None], int]] = [
        (lambda: found.put_pod(_KEY, _UNBOUND), 0),
        (lambda: found.put_pod(_KEY, running("a")), 0),
        (lambda: found.put_pod(_KEY, running("a")), 0),
        (lambda: found.put_pod(_KEY, running("a", 2)), 1),
        (lambda: found.put_pod(_KEY, None), 1),
        (lambda: found.put_pod(_KEY, None), 0),
        (lambda: found.put_node(node("a", 4)), 0),
        (lambda: found.put_node(node("a", 5)), 1),
        (lambda: found.remove_node("a"), 0),
        (lambda: found.assume(_KEY, _ASSUMED), 0),
        (lambda: found.put_pod(_KEY, running("b")), 1),
    ]
    for number, (step, growth) in enumerate(steps):
        before = found.growth
        step()
        assert (number, found.growth - before) == (number, growth)
