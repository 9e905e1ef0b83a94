"""PodGroups of Volcano and of Kubernetes."""

from typing import Any

import pytest

from muster.kubernetes.pod_groups import VOLCANO_GROUPS
from muster.kubernetes.pod_groups import kubernetes_groups as resource_of
from muster.operator.job.actions import Create, Delete, Patch
from muster.operator.job.pod_states import PodState, PodView
from muster.operator.job.world import World
from muster.operator.planning.reconcile import plan
from muster.operator.scheduling import kubernetes_groups, pod_groups, volcano
from tests.parts.gangs import SLOT, job

_GROUPS = resource_of("v1alpha2")


def _group(spec: dict[str, Any], phase: str = "", owner: str = "uid-job", **metadata: Any) -> dict[str, Any]:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return {
        "metadata": {"namespace": "ns", "name": "job", "uid": "uid-group", "ownerReferences": owners, **metadata},
        "spec": spec,
        "status": {"phase": phase},
    }


def _world(*names: str) -> World:
    return World(
        pods=tuple(PodView(name, name, "worker", index, 0, PodState.PENDING) for index, name in enumerate(names))
    )


@pytest.mark.parametrize(
    ("pod", "worker_pod", "named", "applies"),
    [
        ({}, {}, False, True),
        ({}, {"schedulerName": "volcano"}, True, True),
        ({"schedulerName": "volcano"}, {}, True, True),
        ({}, {"schedulerName": "other"}, False, False),
        ({"schedulerName": "other"}, {"schedulerName": "volcano"}, True, False),
    ],
)
def test_templates_say_whether_volcano_is_meant(pod: Any, worker_pod: Any, named: bool, applies: bool) -> None:
    one = job("job", 2, 2, pod=pod, worker_pod=worker_pod)
    assert volcano.names_volcano(one) is named
    assert volcano.applies(one) is applies


def test_the_workers_template_puts_all_pods_into_the_users_group() -> None:
    verdict = volcano.with_user_group(job("job", 2, 2, worker_pod={"schedulerName": "volcano"}))
    assert (verdict.scheduler_name, verdict.may_create) == ("volcano", True)
    for role in ("ps", "worker"):
        assert verdict.annotations(role) == {"scheduling.k8s.io/group-name": "job"}


def test_a_group_is_made_before_any_pod() -> None:
    one = job("job", 2, 1, slots=2, schedulingPolicy={"queue": "research", "priorityClass": "high"})
    verdict = volcano.with_own_group(one, World(), None)
    assert not verdict.may_create
    [created] = verdict.actions
    assert isinstance(created, Create)
    assert created.resource is VOLCANO_GROUPS
    assert created.manifest["metadata"]["name"] == "job"
    assert created.manifest["metadata"]["ownerReferences"][0]["uid"] == "uid-job"
    assert created.manifest["spec"] == {
        "minMember": 3,
        "minResources": {SLOT: "6"},
        "queue": "research",
        "priorityClassName": "high",
    }


def test_a_group_that_was_refused_is_not_asked_for_again_at_once_and_the_refusal_is_an_event() -> None:
    one = job("job", 1, schedulingPolicy={})
    world = World(refusal="PodGroup job: forbidden", is_held=True)
    found = plan(one, world, 1_800_000_000.0, lambda job, world: volcano.with_own_group(job, world, None))
    assert not found.has_actions
    assert ("Refused", "PodGroup job: forbidden") in [(event.reason, event.message) for event in found.events]


def test_the_pods_of_an_own_group_have_volcanos_annotations() -> None:
    one = job("job", 2, 1, schedulingPolicy={"queue": "research"})
    verdict = volcano.with_own_group(one, World(), _group({}, "Inqueue"))
    assert verdict.annotations("ps") == {
        "scheduling.k8s.io/group-name": "job",
        "volcano.sh/job-name": "job",
        "volcano.sh/job-version": "0",
        "volcano.sh/queue-name": "research",
        "volcano.sh/task-spec": "ps",
    }


@pytest.mark.parametrize(
    ("phase", "pods", "expected"),
    [
        ("", (), False),
        ("Pending", (), False),
        ("Inqueue", (), True),
        ("Running", (), True),
        ("Unknown", (), False),
        ("Completed", (), False),
        ("Pending", ("job-worker-0",), True),
        ("Unknown", ("job-worker-0",), True),
    ],
)
def test_pods_are_created_when_volcano_has_the_group_in_its_queue(
    phase: str, pods: tuple[str, ...], expected: bool
) -> None:
    verdict = volcano.with_own_group(job(), _world(*pods), _group({}, phase))
    assert verdict.may_create is expected
    assert bool(verdict.reason) is not expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, (3, {SLOT: "3"})),
        ({"minAvailable": 2}, (2, {SLOT: "2"})),
        ({"minAvailable": 99}, (3, {SLOT: "3"})),
        ({"minAvailable": 0}, (3, {SLOT: "3"})),
        ({"minAvailable": "two"}, (3, {SLOT: "3"})),
        ({"minResources": {"cpu": "8"}}, (3, {"cpu": "8"})),
    ],
)
def test_the_scheduling_policy_overrides_what_is_counted(policy: Any, expected: Any) -> None:
    [created] = volcano.with_own_group(job("job", 2, 1, schedulingPolicy=policy), World(), None).actions
    assert isinstance(created, Create)
    assert (created.manifest["spec"]["minMember"], created.manifest["spec"]["minResources"]) == expected


def test_an_own_group_follows_the_job_and_a_users_does_not() -> None:
    group = {"minMember": 9, "minResources": {SLOT: "2"}}
    [patch] = volcano.with_own_group(job(), World(), _group(group, "Inqueue")).actions
    assert patch == Patch(VOLCANO_GROUPS, "job", {"spec": {"minMember": 2}})
    assert not volcano.with_own_group(job(), World(), _group(group, "Inqueue", owner="")).actions


def test_only_an_own_group_is_removed_and_only_once() -> None:
    assert pod_groups.removal(VOLCANO_GROUPS, job(), _group({})) == (Delete(VOLCANO_GROUPS, "job", "uid-group"),)
    assert not pod_groups.removal(VOLCANO_GROUPS, job(), _group({}, owner="somebody"))
    assert not pod_groups.removal(VOLCANO_GROUPS, job(), _group({}, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not pod_groups.removal(VOLCANO_GROUPS, job(), None)


def test_kubernetes_gets_the_group_and_then_the_pods_in_it() -> None:
    verdict = kubernetes_groups.with_group(job("job", 3, 1), World(), None, _GROUPS)
    assert verdict.may_create
    [created] = verdict.actions
    assert isinstance(created, Create)
    assert created.resource.api_version == "scheduling.k8s.io/v1alpha2"
    assert created.manifest["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}}
    assert verdict.pod_spec == {"schedulingGroup": {"podGroupName": "job"}}


def test_a_group_that_cannot_be_changed_is_replaced_when_no_pod_is_in_it() -> None:
    group = _group({"schedulingPolicy": {"gang": {"minCount": 9}}})
    assert not kubernetes_groups.with_group(job(), _world("job-worker-0"), group, _GROUPS).actions
    verdict = kubernetes_groups.with_group(job(), World(), group, _GROUPS)
    assert (verdict.may_create, verdict.actions) == (False, (Delete(_GROUPS, "job", "uid-group"),))
    right = _group({"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "Pod"})
    verdict = kubernetes_groups.with_group(job(), World(), right, _GROUPS)
    assert (verdict.may_create, verdict.actions) == (True, ())
