"""States of pods, what is kept of them in memory, the work queue, and fields that an old CRD drops."""

import asyncio
from typing import Any

import pytest

from muster.kubernetes.resources import ATTEMPT, RES_TYPE
from muster.operator.control.memory import UnknownFields
from muster.operator.control.work_queue import WorkQueue
from muster.operator.job.environment import PEERS
from muster.operator.job.pod_states import PodState, prune_pod, read_pod

pytestmark = pytest.mark.fast

RUNS: dict[str, Any] = {"running": {"startedAt": "2026-11-16T00:00:00Z"}}


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": "2026-11-16T00:00:00Z"}}


def container(name: str, state: dict[str, Any], *, ready: bool = False) -> dict[str, Any]:
    return {"name": name, "ready": ready, "state": state, "image": "x", "imageID": "y"}


def pod(phase: str | None, policy: str = "Never", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "lab",
            "name": "demo-worker-3",
            "uid": "p3",
            "resourceVersion": "7",
            "creationTimestamp": "2026-11-16T00:00:00Z",
            "labels": {RES_TYPE: "worker", ATTEMPT: "2", "team": "vision"},
            "annotations": {PEERS: "abc", "note": "long"},
            "managedFields": [{"much": "text"}],
            "ownerReferences": [{"name": "demo", "uid": "u1", "controller": True, "kind": "PaddleJob"}],
        },
        "spec": {"restartPolicy": policy, "containers": [{"name": "paddle"}, {"name": "proxy"}]},
        "status": {"phase": phase, "podIP": "10.0.0.1", **status},
    }


CASES = [
    (pod(None), PodState.PENDING),
    (pod("Pending"), PodState.PENDING),
    (pod("Pending", initContainerStatuses=[container("coord-paddle", RUNS)]), PodState.STARTING),
    (pod("Running", containerStatuses=[container("paddle", RUNS)]), PodState.STARTING),
    (pod("Running", containerStatuses=[container("paddle", RUNS, ready=True)]), PodState.RUNNING),
    (
        pod("Running", containerStatuses=[container("proxy", RUNS, ready=True), container("paddle", ended(0))]),
        PodState.SUCCEEDED,
    ),
    (
        pod("Running", containerStatuses=[container("proxy", RUNS, ready=True), container("paddle", ended(1))]),
        PodState.FAILED,
    ),
    (pod("Running", "OnFailure", containerStatuses=[container("paddle", ended(1))]), PodState.STARTING),
    (pod("Running", "OnFailure", containerStatuses=[container("paddle", ended(0))]), PodState.SUCCEEDED),
    (pod("Running", "Always", containerStatuses=[container("paddle", ended(0))]), PodState.STARTING),
    (pod("Succeeded"), PodState.SUCCEEDED),
    (pod("Failed"), PodState.FAILED),
    (pod("Unknown"), PodState.PENDING),
]


@pytest.mark.parametrize(("raw", "state"), CASES)
def test_the_state_of_a_pod_follows_from_its_main_container(raw: dict[str, Any], state: PodState) -> None:
    whole = read_pod(raw)
    assert whole is not None
    assert (whole.state, whole.role, whole.index, whole.attempt) == (state, "worker", 3, 2)
    assert read_pod(prune_pod(raw)) == whole
    assert "team" not in str(prune_pod(raw))
    assert "managedFields" not in str(prune_pod(raw))


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"containerStatuses": [container("paddle", ended(3))]}, "container paddle exited with code 3"),
        (
            {"containerStatuses": [container("paddle", ended(137, "OOMKilled"))]},
            "container paddle exited with code 137 (OOMKilled)",
        ),
        ({"reason": "Evicted", "message": "The node was low on memory."}, "Evicted: The node was low on memory."),
        ({}, "the pod failed"),
    ],
)
def test_a_failure_is_told_in_words(status: dict[str, Any], told: str) -> None:
    found = read_pod(prune_pod(pod("Failed", **status)))
    assert found is not None
    assert found.failure == told


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, ""),
        (
            {"state": {"waiting": {"reason": "ErrImagePull"}}, "image": "i:1"},
            "the image i:1 of container paddle cannot",
        ),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}, "image": "i:1"},
            "the image i:1 of container paddle cannot",
        ),
        (
            {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}}},
            'container paddle cannot be created: secret "s" not found',
        ),
        ({"restartCount": 1, "lastState": {"terminated": {"exitCode": 3}}, "state": {"running": {}}}, ""),
        (
            {"restartCount": 7, "lastState": {"terminated": {"exitCode": 3}}, "state": {"running": {}}},
            "container paddle exited with code 3 and is restarted again and again",
        ),
    ],
)
def test_why_a_container_does_not_start_is_told_in_words_that_stay(status: dict[str, Any], told: str) -> None:
    found = read_pod(prune_pod(pod("Pending", containerStatuses=[{"name": "paddle", **status}])))
    assert found is not None
    assert found.trouble.startswith(told) if told else not found.trouble


def test_pods_that_the_operator_did_not_make_are_no_replicas() -> None:
    raw = pod("Running")
    del raw["metadata"]["labels"][ATTEMPT]
    assert read_pod(raw) is None


def test_a_key_waits_once_and_is_never_worked_on_twice_at_a_time() -> None:
    async def run() -> None:
        queue, key = WorkQueue(), ("lab", "demo")
        queue.add(key)
        queue.add(key)
        assert await queue.take() == key
        queue.add(key)
        assert len(queue) == 0
        queue.done(key)
        assert await queue.take() == key
        queue.done(key)
        assert len(queue) == 0

    asyncio.run(run())


def test_the_earliest_of_several_times_counts() -> None:
    async def run() -> None:
        queue, key = WorkQueue(), ("lab", "demo")
        queue.add_after(key, 3600)
        queue.add_after(key, 0)
        queue.add_after(key, 1800)
        async with asyncio.timeout(60):
            assert await queue.take() == key

    asyncio.run(run())


def test_fields_that_the_api_server_drops_are_learnt() -> None:
    fields = UnknownFields()
    sent: dict[str, Any] = {
        "phase": "Running",
        "conditions": [{}],
        "worker": {"running": 1, "selector": "x"},
        "restartTime": None,
    }
    fields.learn(sent, {"phase": "Running", "worker": {"running": 1}})
    assert fields.without(sent) == {"phase": "Running", "worker": {"running": 1}, "restartTime": None}
