"""The course of a job: phases, ends, cleaning, restarts, scaling, suspension."""

from typing import Any

import pytest

from muster.kubernetes.resources import PODS
from muster.kubernetes.times import timestamp
from muster.operator.job.actions import Delete, DeleteAll, Patch
from muster.operator.job.paddle_job import CleanPolicy
from muster.operator.job.phases import Phase
from muster.operator.job.pod_states import PodState
from muster.operator.job.world import World
from muster.operator.planning.cleaning import CLEANED
from muster.operator.planning.conditions import find, read_conditions
from muster.operator.planning.reconcile import plan
from tests.unit.paddle_operator.building import NOW, Cluster, environment, job_object

pytestmark = pytest.mark.fast


def condition(cluster: Cluster, kind: str) -> dict[str, Any]:
    return dict(find(read_conditions(cluster.status), kind) or {})


def test_a_ps_job_takes_its_course_in_few_writes() -> None:
    cluster = Cluster(job_object(ps=2, worker=2, withGloo=1))
    cluster.start()
    assert (cluster.phase, cluster.status["mode"]) == ("Running", "PS")
    assert (cluster.status["ps"]["ready"], cluster.status["worker"]["ready"]) == ("2/2", "2/2")
    cluster.set_all(PodState.SUCCEEDED, "worker")
    cluster.settle()
    assert cluster.phase == "Completed"
    assert (cluster.status["ps"]["ready"], cluster.status["worker"]["ready"]) == ("2/2", "0/2")
    writes = [type(action).__name__ for action in cluster.done]
    assert writes == ["Create"] * 5 + ["Patch"] * 4 + ["DeleteAll"]
    assert [write["phase"] for write in cluster.status_writes] == ["Pending", "Running", "Completed"]
    assert [event.reason for event in cluster.events] == ["Created"]
    assert cluster.status["observedGeneration"] == 1
    assert cluster.status["startTime"] == cluster.status["completionTime"] == timestamp(NOW)


def test_servers_that_are_reported_as_running_after_the_end_are_counted() -> None:
    cluster = Cluster(job_object(ps=2, worker=2, cleanPodPolicy="Never"))
    cluster.start()
    cluster.set_all(PodState.STARTING, "ps")
    cluster.set_all(PodState.SUCCEEDED, "worker")
    cluster.settle()
    assert (cluster.phase, cluster.status["ps"]["ready"]) == ("Completed", "0/2")
    cluster.set_all(PodState.RUNNING, "ps")
    cluster.settle()
    assert (cluster.phase, cluster.status["ps"]["ready"], cluster.status["worker"]["ready"]) == (
        "Completed",
        "2/2",
        "0/2",
    )
    writes = len(cluster.status_writes)
    cluster.set_all(PodState.SUCCEEDED, "ps")
    cluster.settle()
    assert len(cluster.status_writes) == writes


@pytest.mark.parametrize("intranet", ["PodIP", "Service", "Host"])
@pytest.mark.parametrize("policy", [*CleanPolicy, "", None])
@pytest.mark.parametrize("outcome", [PodState.SUCCEEDED, PodState.FAILED])
def test_every_policy_cleans_after_the_ends_that_it_names(intranet: str, policy: str | None, outcome: PodState) -> None:
    cluster = Cluster(job_object(worker=2, intranet=intranet, cleanPodPolicy=policy))
    cluster.start()
    cluster.set_all(outcome)
    cluster.settle()
    end = Phase.COMPLETED if outcome is PodState.SUCCEEDED else Phase.FAILED
    is_cleaned = end in CLEANED[CleanPolicy(policy or "OnCompletion")]
    assert cluster.phase == end
    assert bool(cluster.pods) is not is_cleaned
    assert bool(cluster.services) is (intranet == "Service" and not is_cleaned)


def test_an_unknown_policy_keeps_the_pods_and_says_so() -> None:
    cluster = Cluster(job_object(worker=1, cleanPodPolicy="OnFailed"))
    cluster.start()
    cluster.set_all(PodState.SUCCEEDED)
    cluster.settle()
    assert cluster.pods
    assert "OnFailed" in condition(cluster, "FieldsIgnored")["message"]


def test_the_misspelt_policy_is_reported_once() -> None:
    cluster = Cluster(job_object(worker=1, cleanPolicy="Never"))
    cluster.start()
    assert "cleanPodPolicy" in condition(cluster, "FieldsIgnored")["message"]
    assert [event.reason for event in cluster.events].count("FieldsIgnored") == 1


def test_phases_never_go_back_when_a_pod_is_made_again() -> None:
    cluster = Cluster(job_object(worker=2))
    cluster.start()
    lost = cluster.pods.pop("demo-worker-1")
    cluster.settle()
    assert cluster.pods["demo-worker-1"].uid != lost.uid
    cluster.schedule()
    assert {write["phase"] for write in cluster.status_writes[1:]} == {"Running"}
    assert cluster.events[-1].message == "Created pod demo-worker-1"


def test_a_replaced_pod_is_announced_to_the_others() -> None:
    cluster = Cluster(job_object(worker=2))
    cluster.start()
    before = environment(cluster, "demo-worker-0")["PADDLE_TRAINER_ENDPOINTS"]
    del cluster.pods["demo-worker-1"]
    cluster.settle()
    assert environment(cluster, "demo-worker-0")["PADDLE_TRAINER_ENDPOINTS"] == before
    cluster.schedule()
    after = environment(cluster, "demo-worker-0")["PADDLE_TRAINER_ENDPOINTS"]
    assert after != before
    assert after == environment(cluster, "demo-worker-1")["PADDLE_TRAINER_ENDPOINTS"]
    assert cluster.config is not None
    assert cluster.config["PADDLE_TRAINER_ENDPOINTS"] == after


def test_a_failed_pod_fails_the_job_and_is_named() -> None:
    cluster = Cluster(job_object(ps=1, worker=2))
    cluster.start()
    cluster.set("demo-worker-1", PodState.FAILED, failure="container paddle exited with code 3")
    cluster.settle()
    assert cluster.phase == "Failed"
    assert condition(cluster, "Failed")["message"] == "demo-worker-1: container paddle exited with code 3"
    assert cluster.events[-1].reason == "Failed"


def test_servers_that_fail_after_the_workers_succeeded_do_no_harm() -> None:
    cluster = Cluster(job_object(ps=1, worker=1))
    cluster.start()
    cluster.set("demo-worker-0", PodState.SUCCEEDED)
    cluster.set("demo-ps-0", PodState.FAILED)
    cluster.settle()
    assert cluster.phase == "Completed"


def test_a_failure_restarts_the_whole_gang_until_the_limit_is_reached() -> None:
    cluster = Cluster(job_object(worker=2, backoffLimit=2, restartBackoffSeconds=10))
    cluster.start()
    for attempt, pause in ((1, 10), (2, 20)):
        cluster.set("demo-worker-0", PodState.FAILED, failure="out of memory")
        found = cluster.settle()
        assert (cluster.phase, cluster.status["restarts"], cluster.pods) == ("Restarting", attempt, {})
        assert found.wake_at == cluster.now + pause
        cluster.now += pause
        cluster.start()
        assert cluster.phase == "Running"
        assert {pod.attempt for pod in cluster.pods.values()} == {attempt}
    cluster.set("demo-worker-0", PodState.FAILED, failure="out of memory")
    cluster.settle()
    assert cluster.phase == "Failed"
    assert cluster.status["restarts"] == 2


def test_the_next_attempt_waits_until_all_pods_of_the_last_are_gone() -> None:
    cluster = Cluster(job_object(worker=2, backoffLimit=1, restartBackoffSeconds=0))
    cluster.start()
    cluster.raw["status"] = {**cluster.status, "restarts": 1, "phase": "Restarting"}
    cluster.set("demo-worker-0", PodState.FAILED)
    cluster.set("demo-worker-1", PodState.RUNNING, leaves_at=cluster.now + 30)
    leaving = cluster.pods["demo-worker-1"]
    found = plan(cluster.job, World(pods=(leaving,)), cluster.now)
    assert not found.has_actions
    assert len(plan(cluster.job, World(), cluster.now).creates) == 2


def test_scaling_up_and_down_refreshes_the_endpoints() -> None:
    cluster = Cluster(job_object(worker=2))
    cluster.start()
    cluster.change(worker={**cluster.raw["spec"]["worker"], "replicas": 3})
    cluster.settle()
    cluster.schedule()
    assert environment(cluster, "demo-worker-0")["PADDLE_TRAINERS_NUM"] == "3"
    assert cluster.events[-1].reason == "Scaled"
    cluster.change(worker={**cluster.raw["spec"]["worker"], "replicas": 1})
    cluster.settle()
    assert list(cluster.pods) == ["demo-worker-0"]
    assert environment(cluster, "demo-worker-0")["PADDLE_TRAINERS_NUM"] == "1"
    assert cluster.config is not None
    assert cluster.config["PADDLE_TRAINERS_NUM"] == "1"


def test_scaling_in_service_mode_changes_services_and_annotations() -> None:
    cluster = Cluster(job_object(worker=2, intranet="Service"))
    cluster.start()
    cluster.change(worker={**cluster.raw["spec"]["worker"], "replicas": 3})
    cluster.settle()
    assert list(cluster.services) == ["demo-worker-0", "demo-worker-1", "demo-worker-2"]
    assert environment(cluster, "demo-worker-0")["PADDLE_TRAINERS_NUM"] == "3"
    cluster.change(worker={**cluster.raw["spec"]["worker"], "replicas": 1})
    cluster.settle()
    assert list(cluster.services) == ["demo-worker-0"]


def test_suspension_deletes_the_pods_and_a_resume_starts_again() -> None:
    cluster = Cluster(job_object(worker=2))
    cluster.start()
    cluster.change(suspend=True)
    cluster.settle()
    assert (cluster.phase, cluster.pods) == ("Suspended", {})
    assert "startTime" not in cluster.status
    cluster.now += 100
    cluster.change(suspend=False)
    cluster.settle()
    assert cluster.phase == "Pending"
    cluster.start()
    assert cluster.phase == "Running"
    assert cluster.status["startTime"] == timestamp(cluster.now)
    assert condition(cluster, "Suspended")["status"] == "False"
    assert cluster.status.get("restarts") is None


def test_a_job_that_is_created_suspended_waits() -> None:
    cluster = Cluster(job_object(worker=1, suspend=True))
    cluster.settle()
    assert (cluster.phase, cluster.pods) == ("Suspended", {})


def test_the_deadline_ends_the_job_and_its_pods() -> None:
    cluster = Cluster(job_object(worker=2, activeDeadlineSeconds=60))
    cluster.start()
    assert cluster.settle().wake_at == NOW + 60
    cluster.set("demo-worker-0", PodState.SUCCEEDED)
    cluster.now += 60
    cluster.settle()
    assert cluster.phase == "Failed"
    assert condition(cluster, "Failed")["reason"] == "DeadlineExceeded"
    assert list(cluster.pods) == ["demo-worker-0"]


def test_a_finished_job_is_deleted_after_its_time_to_live() -> None:
    cluster = Cluster(job_object(worker=1, ttlSecondsAfterFinished=30))
    cluster.start()
    cluster.set_all(PodState.SUCCEEDED)
    assert cluster.settle().wake_at == NOW + 30
    cluster.now += 30
    cluster.settle()
    assert cluster.is_deleted


def test_the_log_tells_each_end_of_a_job_once() -> None:
    cluster = Cluster(job_object(ps=1, worker=2, intranet="Service", ttlSecondsAfterFinished=60))
    cluster.start()
    cluster.now += 90
    cluster.set_all(PodState.SUCCEEDED, "worker")
    cluster.settle()
    cluster.settle()
    cluster.now += 60
    cluster.settle()
    told = [(line.text, dict(line.details)) for line in cluster.log]
    assert told == [
        (
            "job completed",
            {
                "reason": "WorkersSucceeded",
                "message": "All workers succeeded.",
                "mode": "PS",
                "pods": 3,
                "restarts": 0,
                "seconds": 90,
            },
        ),
        ("job cleaned up", {"phase": "Completed", "policy": "OnCompletion", "pods": 3, "services": 3}),
        ("job deleted after its time to live", {"ttl_s": 60, "phase": "Completed"}),
    ]


def test_the_log_tells_why_a_job_failed() -> None:
    cluster = Cluster(job_object(worker=1))
    cluster.start()
    cluster.set("demo-worker-0", PodState.FAILED, failure="container paddle exited with code 3")
    cluster.settle()
    [line] = cluster.log
    assert (line.text, line.details["message"]) == (
        "job failed",
        "demo-worker-0: container paddle exited with code 3",
    )


def test_a_finished_job_stays_finished() -> None:
    cluster = Cluster(job_object(worker=1, cleanPodPolicy="Never"))
    cluster.start()
    cluster.set_all(PodState.SUCCEEDED)
    cluster.settle()
    cluster.done.clear()
    cluster.pods.clear()
    cluster.change(worker={**cluster.raw["spec"]["worker"], "replicas": 5})
    cluster.settle()
    assert (cluster.done, cluster.phase) == ([], "Completed")


def test_nothing_is_done_for_a_job_that_is_being_deleted() -> None:
    raw = job_object(worker=1)
    raw["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z"
    cluster = Cluster(raw)
    cluster.settle()
    assert (cluster.done, cluster.status_writes) == ([], [])


def test_names_of_others_are_left_alone_and_reported() -> None:
    cluster = Cluster(job_object(worker=2), world=World(foreign={"demo-worker-0": "Pod"}))
    cluster.settle()
    assert list(cluster.pods) == ["demo-worker-1"]
    assert condition(cluster, "NameConflict")["message"] == "Pod demo-worker-0 exists and does not belong to this job"
    cluster.world = World()
    cluster.start()
    assert condition(cluster, "NameConflict")["status"] == "False"
    assert cluster.phase == "Running"


def test_names_of_an_earlier_job_are_waited_for_in_silence() -> None:
    cluster = Cluster(job_object(worker=1), world=World(earlier=frozenset({"demo-worker-0"})))
    cluster.settle()
    assert (cluster.pods, cluster.phase, cluster.status.get("conditions")) == ({}, "Pending", None)


def test_a_refusal_of_the_api_server_is_shown_in_its_words() -> None:
    words = "Pod demo-worker-0: exceeded quota: gpus"
    cluster = Cluster(job_object(worker=1), world=World(refusal=words, is_held=True))
    cluster.settle()
    assert cluster.pods == {}
    assert condition(cluster, "PodsCreated") == {
        "type": "PodsCreated",
        "status": "False",
        "reason": "Refused",
        "message": words,
        "lastTransitionTime": timestamp(NOW),
    }
    assert [event.reason for event in cluster.events] == ["Refused"]


def test_a_pod_of_a_lost_node_is_deleted_by_force_after_its_grace() -> None:
    cluster = Cluster(job_object(worker=1))
    cluster.start()
    cluster.set("demo-worker-0", PodState.RUNNING, leaves_at=NOW + 5)
    assert cluster.settle().wake_at == NOW + 35
    cluster.now = NOW + 35
    cluster.settle()
    assert Delete(PODS, "demo-worker-0", "pod-1", is_forced=True) in cluster.done
    assert cluster.pods["demo-worker-0"].uid == "pod-2"


def test_a_job_without_a_change_costs_nothing() -> None:
    cluster = Cluster(job_object(ps=2, worker=2))
    cluster.start()
    cluster.done.clear()
    cluster.status_writes.clear()
    cluster.settle()
    assert (cluster.done, cluster.status_writes) == ([], [])


def elastic(**bounds: int) -> Cluster:
    cluster = Cluster(job_object(worker=bounds.pop("replicas"), elastic=1))
    cluster.raw["spec"]["worker"] |= bounds
    return cluster


def test_an_elastic_job_starts_with_fewer_workers_than_it_wants() -> None:
    cluster = elastic(replicas=3, requests=2, limits=4)
    cluster.settle()
    for name in ("demo-worker-0", "demo-worker-2"):
        cluster.set(name, PodState.PENDING, address="10.0.0.1" if name.endswith("0") else "10.0.0.3")
    assert cluster.settle().wake_at == NOW + 10
    cluster.now += 10
    cluster.settle()
    env = environment(cluster, "demo-worker-2")
    assert env["PADDLE_TRAINER_ENDPOINTS"] == "10.0.0.1:36000,10.0.0.3:36000"
    assert (env["PADDLE_TRAINER_ID"], env["PADDLE_ELASTIC_NP"]) == ("1", "2:4")
    for name in ("demo-worker-0", "demo-worker-2"):
        cluster.set(name, PodState.RUNNING)
    cluster.settle()
    assert (cluster.phase, cluster.status["elastic"]) == ("Running", "DOING")
    cluster.set("demo-worker-1", PodState.RUNNING, address="10.0.0.2")
    cluster.settle()
    assert environment(cluster, "demo-worker-2")["PADDLE_TRAINER_ID"] == "2"
    assert cluster.status["elastic"] == "DONE"


def test_a_failed_worker_of_an_elastic_job_is_replaced() -> None:
    cluster = elastic(replicas=2, requests=1, limits=2)
    cluster.start()
    cluster.set("demo-worker-1", PodState.FAILED, failure="Evicted")
    cluster.settle()
    assert cluster.phase == "Running"
    assert cluster.pods["demo-worker-1"].state is PodState.PENDING


def test_an_elastic_job_keeps_within_its_bounds() -> None:
    assert elastic(replicas=9, requests=1, limits=4).job.pod_count == 4
    assert elastic(replicas=1, requests=2, limits=4).job.pod_count == 2


def test_an_elastic_job_completes_when_those_at_work_have_succeeded() -> None:
    cluster = elastic(replicas=3, requests=2, limits=3)
    cluster.settle()
    for number in (0, 1):
        cluster.set(f"demo-worker-{number}", PodState.RUNNING, address=f"10.0.0.{number}")
    cluster.now += 10
    cluster.settle()
    cluster.set("demo-worker-0", PodState.SUCCEEDED)
    cluster.settle()
    assert cluster.phase == "Running"
    cluster.set("demo-worker-1", PodState.SUCCEEDED)
    cluster.settle()
    assert cluster.phase == "Completed"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, "neither worker nor ps"),
        ({"worker": 7}, "spec.worker is not a mapping"),
        ({"worker": {"replicas": "two"}}, "spec.worker.replicas"),
        ({"worker": {"replicas": -1}}, "spec.worker.replicas"),
        ({"worker": {"template": None}}, "spec.worker.replicas is missing"),
        ({"worker": {"replicas": 1}}, "spec.worker.template.spec.containers"),
        ({"worker": {"replicas": 1, "template": {"spec": {"containers": [3]}}}}, "not a mapping"),
        ({"worker": {"replicas": 0, "template": {"spec": {"containers": [{}]}}}}, "no replicas"),
        ({"withGloo": 5}, "spec.withGloo"),
        ({"sampleSetRef": {"name": "x"}}, "mountPath"),
        ({"activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds"),
        ({"schedulingPolicy": []}, "spec.schedulingPolicy"),
    ],
)
def test_a_malformed_job_says_what_is_wrong_and_does_nothing(spec: dict[str, Any], told: str) -> None:
    raw = job_object()
    raw["spec"] = spec
    cluster = Cluster(raw)
    cluster.settle()
    assert cluster.done == []
    assert told in condition(cluster, "SpecValid")["message"]
    assert [event.reason for event in cluster.events] == ["Invalid"]


def test_a_job_that_was_corrected_runs() -> None:
    cluster = Cluster(job_object(worker=1, withGloo=9))
    cluster.settle()
    cluster.change(withGloo=0)
    cluster.start()
    assert cluster.phase == "Running"
    assert condition(cluster, "SpecValid")["status"] == "True"


@pytest.mark.parametrize("raw", [{}, {"metadata": None}, {"metadata": {"name": "x"}, "spec": "no", "status": 3}])
def test_objects_without_any_sense_are_read(raw: dict[str, Any]) -> None:
    assert Cluster(raw).job.problems


def test_a_name_that_is_too_long_for_pods_is_refused() -> None:
    assert "too long" in Cluster(job_object(worker=2, name="x" * 60)).job.problems[0]


def test_patches_go_only_to_pods_that_still_live() -> None:
    cluster = Cluster(job_object(worker=3))
    cluster.start()
    cluster.set("demo-worker-0", PodState.SUCCEEDED)
    del cluster.pods["demo-worker-2"]
    cluster.settle()
    cluster.done.clear()
    cluster.schedule()
    patched = [action.name for action in cluster.done if isinstance(action, Patch) and action.resource is PODS]
    assert sorted(patched) == ["demo-worker-1", "demo-worker-2"]


def test_old_pods_are_deleted_by_one_request_for_each_attempt() -> None:
    cluster = Cluster(job_object(worker=2, backoffLimit=1))
    cluster.start()
    cluster.set("demo-worker-0", PodState.FAILED)
    cluster.settle()
    assert [type(action) for action in cluster.done if isinstance(action, Delete | DeleteAll)] == [DeleteAll]
