"""What the core does with the decisions of the guard."""

from dataclasses import replace
from typing import Any

import pytest

from muster.kubernetes.resources import PODS
from muster.operator.job.actions import Create, DeleteAll, Patch
from muster.operator.job.pod_states import PodState, PodView
from muster.operator.job.world import World
from muster.operator.planning.plans import Plan
from muster.operator.planning.reconcile import plan
from muster.operator.scheduling import gates
from muster.operator.scheduling.guard import Hold, HoldReason
from muster.operator.scheduling.room import GATE
from tests.parts.gangs import job

_NOW = 1_767_225_600.0
_HOLD = Hold(HoldReason.WAITS, "there is no room")


def _world(*gates_of_pods: tuple[str, ...]) -> World:
    return World(
        pods=tuple(
            PodView(f"job-worker-{index}", f"uid-{index}", "worker", index, 0, PodState.PENDING, gates=names)
            for index, names in enumerate(gates_of_pods)
        )
    )


def _plan(
    hold: Hold | None, world: World, *, has_gates: bool = True, intranet: str = "PodIP", worker: int = 2, **status: Any
) -> Plan:
    def schedule(one: Any, seen: World) -> Any:
        return gates.verdict(hold, one, seen, has_gates=has_gates)

    return plan(job(worker=worker, intranet=intranet, status=status), world, _NOW, schedule)


def _created(planned: Plan) -> list[Any]:
    actions = [action for stage in planned.stages for action in stage]
    return [one.manifest for one in actions if isinstance(one, Create) and one.resource is PODS]


def _condition(planned: Plan) -> Any:
    assert planned.status is not None
    return next((one for one in planned.status.get("conditions", []) if one["type"] == "Admitted"), None)


def test_pods_that_fit_are_created_without_a_gate_and_without_a_word() -> None:
    planned = _plan(None, World())
    assert len(_created(planned)) == 2
    assert not any("schedulingGates" in pod["spec"] for pod in _created(planned))
    assert _condition(planned) is None
    assert [event.reason for event in planned.events] == ["Created"]


def test_pods_that_do_not_fit_are_created_with_a_gate_and_say_why() -> None:
    planned = _plan(_HOLD, World())
    assert [pod["spec"]["schedulingGates"] for pod in _created(planned)] == [[{"name": GATE}]] * 2
    assert (_condition(planned)["status"], _condition(planned)["reason"]) == ("False", "WaitingForRoom")
    assert {(event.reason, event.is_warning) for event in planned.events} == {
        ("Created", False),
        ("WaitingForRoom", False),
    }


def test_a_server_without_gates_gets_the_pods_when_they_fit() -> None:
    assert not _created(_plan(_HOLD, World(), has_gates=False))
    assert len(_created(_plan(None, World(), has_gates=False))) == 2


@pytest.mark.parametrize(
    ("names", "left"), [((GATE,), None), ((GATE, "queue"), [{"name": "queue"}]), (("queue", GATE), [{"name": "queue"}])]
)
def test_a_release_takes_the_gate_away_and_leaves_those_of_others(names: tuple[str, ...], left: Any) -> None:
    planned = _plan(None, _world(names, ("queue",)))
    assert planned.stages[0] == (Patch(PODS, "job-worker-0", {"spec": {"schedulingGates": left}}),)


def test_a_release_is_told_by_the_condition() -> None:
    before = {"type": "Admitted", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    planned = _plan(None, _world((GATE,), (GATE,)), conditions=[before])
    assert _condition(planned)["status"] == "True"


def test_what_was_released_in_vain_is_deleted_as_a_whole() -> None:
    hold = Hold(HoldReason.TAKEN_BACK, "no node for some", is_new=True)
    planned = _plan(hold, _world((), ()))
    [gone] = planned.stages[0]
    assert isinstance(gone, DeleteAll)
    assert [name for name, _ in gone.found] == ["job-worker-0", "job-worker-1"]
    assert not _created(planned)
    assert any(event.reason == "TakenBack" and event.is_warning for event in planned.events)


def test_a_job_that_is_held_writes_its_status_once() -> None:
    first = _plan(_HOLD, _world((GATE,), (GATE,)))
    again = plan(
        replace(job(), status=first.status or {}),
        _world((GATE,), (GATE,)),
        _NOW + 60,
        lambda one, seen: gates.verdict(_HOLD, one, seen, has_gates=True),
    )
    assert again.status == first.status
    assert not again.events
    assert not again.has_actions


def test_pods_that_would_start_at_once_wait_behind_gates_for_those_that_may_be_refused() -> None:
    planned = _plan(None, World(), intranet="Service")
    assert [pod["spec"]["schedulingGates"] for pod in _created(planned)] == [[{"name": GATE}]] * 2
    assert _condition(planned) is None
    refused = _plan(None, _world((GATE,)), intranet="Service")
    assert not any(isinstance(action, Patch) and action.resource is PODS for action in refused.stages[0])
    complete = _plan(None, _world((GATE,), (GATE,)), intranet="Service")
    assert [action.name for action in complete.stages[0] if isinstance(action, Patch)] == [
        "job-worker-0",
        "job-worker-1",
    ]


def test_a_pod_that_replaces_a_lost_one_waits_for_nobody() -> None:
    [pod] = _created(_plan(None, _world(()), intranet="Service", phase="Running"))
    assert "schedulingGates" not in pod["spec"]


def test_of_a_large_job_that_can_never_fit_nothing_is_created() -> None:
    hold = Hold(HoldReason.TOO_LARGE, "the nodes cannot hold all pods")
    assert len(_created(_plan(hold, World(), worker=4))) == 4
    assert not _created(_plan(hold, World(), worker=1000, intranet="Service"))


def test_a_large_gang_is_created_bit_by_bit() -> None:
    assert 0 < len(_created(_plan(None, World(), worker=3000))) < 1000
