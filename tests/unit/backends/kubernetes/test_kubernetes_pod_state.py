"""What the state of a pod says about its task."""

from typing import Any

import pytest

from muster.backends.kubernetes.pod_state import observed
from muster.backends.kubernetes.task_table import TaskTable
from muster.ports.backend import Observation, Phase
from tests.unit.backends.kubernetes.building import AT, LATER_AT, TASK, a_pod, ended, running

pytestmark = pytest.mark.fast
UNSCHEDULABLE = "0/3 nodes are available: 3 Insufficient cpu."


def scheduled(status: str, message: str = "") -> dict[str, Any]:
    return {"type": "PodScheduled", "status": status, "reason": "Unschedulable", "message": message}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def init(exit_code: int, message: str) -> list[dict[str, Any]]:
    return [{"name": "prepare", "state": {"terminated": {"exitCode": exit_code, "message": message}}}]


def test_a_pod_without_a_node_waits_with_the_words_of_the_scheduler() -> None:
    pod = a_pod(node=None, phase="Pending", conditions=[scheduled("False", UNSCHEDULABLE)])
    assert observed(pod) == Observation(TASK, Phase.WAITING, "ml/muster-j1-1-worker-0", wait_reason=UNSCHEDULABLE)


def test_a_pod_that_nobody_has_looked_at_waits_for_the_scheduler() -> None:
    assert observed(a_pod(node=None, phase="Pending")).wait_reason == "waiting for the scheduler of Kubernetes"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (waiting("ContainerCreating"), "on n1: creating the container"),
        (waiting("ErrImagePull", "connection refused"), "on n1: ErrImagePull: connection refused"),
        (waiting("ImagePullBackOff", "dial tcp: timeout"), "on n1: ImagePullBackOff: dial tcp: timeout"),
    ],
)
def test_a_pod_on_its_node_waits_until_its_container_runs(state: dict[str, Any], words: str) -> None:
    found = observed(a_pod(state, phase="Pending"))
    assert (found.phase, found.node, found.wait_reason) == (Phase.WAITING, None, words)


def test_a_running_container_is_a_running_task() -> None:
    found = observed(a_pod(running()))
    assert (found.phase, found.node, found.started_at) == (Phase.RUNNING, "n1", AT)


@pytest.mark.parametrize(("exit_code", "signal"), [(0, None), (3, None), (137, 9), (143, 15), (255, None)])
def test_an_end_has_its_exit_code_and_signal(exit_code: int, signal: int | None) -> None:
    found = observed(a_pod(ended(exit_code), phase="Failed"))
    assert (found.phase, found.exit_code, found.signal, found.stopped) == (Phase.ENDED, exit_code, signal, False)
    assert (found.started_at, found.ended_at) == (AT, LATER_AT)


def test_an_end_that_muster_ordered_is_a_stop() -> None:
    pod = a_pod(ended(143))
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:59Z"
    found = observed(pod, ordered=True)
    assert (found.phase, found.stopped) == (Phase.ENDED, True)


def test_a_container_killed_for_its_memory_ends_so() -> None:
    assert observed(a_pod(ended(137, reason="OOMKilled"), phase="Failed")).oom


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reason": "Evicted", "message": "The node was low on resource: memory."}, "The node was low on resource"),
        ({"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."}, "shutdown"),
        (
            {
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                        "message": "preempting to accommodate a higher priority pod",
                    }
                ]
            },
            "PreemptionByScheduler: preempting",
        ),
    ],
)
def test_a_pod_that_kubernetes_ends_is_lost_with_its_words(more: dict[str, Any], words: str) -> None:
    found = observed(a_pod(ended(137), phase="Failed", **more))
    assert (found.phase, found.exit_code) == (Phase.LOST, None)
    assert words in found.error_message


def test_a_task_that_succeeds_while_it_is_evicted_has_succeeded() -> None:
    found = observed(a_pod(ended(0), phase="Failed", reason="Evicted"))
    assert (found.phase, found.exit_code) == (Phase.ENDED, 0)


def test_a_pod_that_somebody_deletes_is_lost() -> None:
    pod = a_pod(ended(143))
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:59Z"
    found = observed(pod)
    assert (found.phase, found.error_message) == (Phase.LOST, "its pod was deleted in Kubernetes")


@pytest.mark.parametrize(
    ("exit_code", "error_code"), [(91, "fetch"), (92, "rejected"), (93, "package"), (1, "prepare")]
)
def test_a_failed_preparation_has_its_own_code_and_words(exit_code: int, error_code: str) -> None:
    pod = a_pod(waiting("PodInitializing"), phase="Failed", initContainerStatuses=init(exit_code, "no archive\n"))
    found = observed(pod)
    assert (found.phase, found.error_code, found.error_message) == (Phase.ENDED, error_code, "no archive")


@pytest.mark.parametrize(
    "state",
    [
        waiting("CreateContainerConfigError", 'secret "x" not found'),
        {"terminated": {"exitCode": 128, "reason": "StartError", "startedAt": "1970-01-01T00:00:00Z"}},
    ],
)
def test_what_can_never_start_is_refused(state: dict[str, Any]) -> None:
    found = observed(a_pod(state, phase="Pending"))
    assert (found.phase, found.error_code, found.exit_code) == (Phase.ENDED, "bad-request", None)
    assert found.error_message


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ImagePullBackOff", 'pulling "nothing:1": not found'),
        ("InvalidImageName", 'couldn\'t parse image name "nothing:1"'),
        ("ErrImageNeverPull", 'Container image "nothing:1" is not present with pull policy of Never'),
    ],
)
def test_an_image_that_does_not_exist_is_the_fault_of_the_job(reason: str, message: str) -> None:
    found = observed(a_pod(waiting(reason, message), phase="Pending"))
    assert (found.phase, found.error_code) == (Phase.ENDED, "image")
    assert "nothing:1" in found.error_message


def test_an_image_that_is_not_given_to_the_cluster_needs_a_login() -> None:
    message = 'failed to pull "r.example.org/a:1": unexpected status: 401 Unauthorized'
    found = observed(a_pod(waiting("ImagePullBackOff", message), phase="Pending"))
    assert (found.phase, found.error_code) == (Phase.ENDED, "image-denied")


def test_an_image_that_does_not_come_is_waited_for_only_so_long() -> None:
    now = [0.0]
    table = TaskTable(pull_timeout_s=600.0, clock=lambda: now[0])

    def seen(at: float, state: dict[str, Any]) -> tuple[Phase, str]:
        now[0] = at
        found = table.observation(a_pod(state, phase="Pending"))
        assert found is not None
        return found.phase, found.error_code

    waits = (Phase.WAITING, "")
    assert seen(0, waiting("ErrImagePull", "dial tcp: timeout")) == waits
    assert seen(500, waiting("ImagePullBackOff", "dial tcp: timeout")) == waits
    assert seen(599, waiting("ContainerCreating")) == waits
    assert seen(700, waiting("ErrImagePull", "dial tcp: timeout")) == waits
    assert seen(1300, waiting("ImagePullBackOff", "dial tcp: timeout")) == (Phase.ENDED, "registry")
    assert table.ends[TASK].error_message == "tried for 10m: ImagePullBackOff: dial tcp: timeout"


def test_a_pod_that_its_node_did_not_admit_ends_with_the_reason() -> None:
    found = observed(a_pod(None, phase="Failed", reason="OutOfcpu", message="Node didn't have enough cpu"))
    assert (found.error_code, found.error_message) == ("not-admitted", "OutOfcpu: Node didn't have enough cpu")


def test_a_running_pod_on_a_lost_node_is_lost_and_an_ended_one_is_not() -> None:
    assert observed(a_pod(running()), lost_node="n1 is silent").error_message == "n1 is silent"
    assert observed(a_pod(ended(0)), lost_node="n1 is silent").phase is Phase.ENDED
