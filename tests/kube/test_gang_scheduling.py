"""Gang scheduling on a real cluster. The nodes offer a made-up resource of which each test has its own."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.kube import Kube, KubeNamespace, Object
from tests.parts.kube_slots import Slots
from tests.parts.operator_account import account
from tests.parts.operator_process import OperatorProcess, running_operator
from tests.parts.paddle_jobs import SUCCEEDS, WAITS, install_definition, paddle_job, paddle_role
from tests.parts.volcano import API, VolcanoStandIn, install_volcano

pytestmark = pytest.mark.kube
_LONG_S = 240
_SLEEPS = ("/bin/sh", "-c", "sleep 3")


class PodSlots(Slots):
    """A resource that the pods of one test ask for."""

    def role(self, replicas: int, command: tuple[str, ...], **pod: object) -> Object:
        role = paddle_role(replicas, command, **pod)
        role["template"]["spec"]["containers"][0]["resources"] = {"limits": {self.name: "1"}}
        return role


@pytest.fixture
def slots(kube: Kube) -> Iterator[PodSlots]:
    found = PodSlots(kube)
    yield found
    found.offer(None, None)


@pytest.fixture(autouse=True)
def definition(kube: Kube) -> None:
    install_definition(kube)


@contextlib.contextmanager
def operator(
    namespace: KubeNamespace, folder: Path, *arguments: str, rights: tuple[str, ...] = ("gang-guard",)
) -> Iterator[OperatorProcess]:
    """An operator with no more than the rights that the files of `deploy` give it: in its namespace those of every
    operator, and in the whole cluster those of these roles."""
    with account(namespace, folder, within=("manager",), everywhere=rights) as kubeconfig:
        log = folder / "operator.log"
        with running_operator(kubeconfig, log, f"--namespace={namespace.name}", *arguments) as found:
            try:
                yield found
            except BaseException:
                found_objects = map(_summary, namespace.all("PaddleJob") + namespace.all("Pod"))
                print(found.said[-6000:], f"the operator runs: {found.is_running}", *found_objects, sep="\n")
                raise


def _summary(one: Object) -> str:
    return f"{one['kind']} {one['metadata']['name']}: {one.get('status')}"


def _condition(job: Object, kind: str) -> Object:
    conditions = job.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def _is_admitted(job: Object) -> str:
    return str(_condition(job, "Admitted").get("status", ""))


def _completed(job: Object) -> bool:
    return bool(job.get("status", {}).get("phase") == "Completed")


def _are_unschedulable(pods: list[Object]) -> bool:
    """Whether the scheduler has looked at all pods and found no place."""
    return all(
        any(one.get("reason") == "Unschedulable" for one in pod.get("status", {}).get("conditions", [])) for pod in pods
    )


def test_kubernetes_own_pod_group_starts_all_or_none(namespace: KubeNamespace, slots: PodSlots, tmp_path: Path) -> None:
    slots.offer(2, 1)
    with operator(namespace, tmp_path, "--scheduling=kubernetes", rights=("podgroup",)):
        namespace.create(paddle_job("gang", cleanPodPolicy="Never", worker=slots.role(4, SUCCEEDS)))
        pods = namespace.await_all(
            "Pod", lambda found: len(found) == 4 and _are_unschedulable(found), timeout_s=_LONG_S
        )
        assert not any(pod["spec"].get("nodeName") for pod in pods)
        [group] = _groups(namespace, "scheduling.k8s.io/v1alpha2")
        assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
        slots.offer(2, 2)
        namespace.await_object("PaddleJob", "gang", _completed, timeout_s=_LONG_S)


def test_a_gate_holds_a_job_until_all_its_pods_fit(namespace: KubeNamespace, slots: PodSlots, tmp_path: Path) -> None:
    slots.offer(2, 1)
    with operator(namespace, tmp_path):
        namespace.create(paddle_job("gang", cleanPodPolicy="Never", worker=slots.role(4, SUCCEEDS)))
        job = namespace.await_object(
            "PaddleJob", "gang", lambda found: _is_admitted(found) == "False", timeout_s=_LONG_S
        )
        condition = _condition(job, "Admitted")
        assert condition["reason"] == "DoesNotFit"
        assert f"they need 4 {slots.name}, and the nodes have 3" in condition["message"]
        namespace.await_all("Event", lambda found: "DoesNotFit" in [event["reason"] for event in found])
        pods = namespace.await_all("Pod", lambda found: len(found) == 4, timeout_s=_LONG_S)
        assert all(pod["spec"]["schedulingGates"] == [{"name": "batch.paddlepaddle.org/gang"}] for pod in pods)
        slots.offer(2, 2)
        job = namespace.await_object("PaddleJob", "gang", _completed, timeout_s=_LONG_S)
        assert _is_admitted(job) == "True"


def test_two_jobs_of_which_one_fits_run_one_after_the_other(
    namespace: KubeNamespace, slots: PodSlots, tmp_path: Path
) -> None:
    slots.offer(2, 1)
    with operator(namespace, tmp_path):
        for name in ("one", "two"):
            roles = {"ps": slots.role(1, _SLEEPS), "worker": slots.role(1, _SLEEPS)}
            namespace.create(paddle_job(name, **roles))
        ended = {
            name: namespace.await_object("PaddleJob", name, _completed, timeout_s=_LONG_S) for name in ("one", "two")
        }
        first, second = sorted(ended.values(), key=lambda job: str(job["status"]["completionTime"]))
        assert _is_admitted(first) == ""
        assert _is_admitted(second) == "True"
        assert second["status"]["startTime"] >= first["status"]["completionTime"]


def test_a_gang_that_starts_only_in_part_is_taken_back(
    namespace: KubeNamespace, slots: PodSlots, tmp_path: Path
) -> None:
    """The operator does not know that the pods may not be on one node; the scheduler does."""
    slots.offer(4, 0)
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"paddle-res-type": "worker"}}, "topologyKey": "kubernetes.io/hostname"}
    ]}}  # fmt: skip
    with operator(namespace, tmp_path, "--gang-timeout=10s"):
        namespace.create(paddle_job("apart", worker=slots.role(2, WAITS, affinity=apart)))
        job = namespace.await_object(
            "PaddleJob", "apart", lambda found: _is_admitted(found) == "False", timeout_s=_LONG_S
        )
        assert _condition(job, "Admitted")["reason"] == "TakenBack"
        pods = namespace.await_all(
            "Pod",
            lambda found: len(found) == 2 and all(pod["spec"].get("schedulingGates") for pod in found),
            timeout_s=_LONG_S,
        )
        assert not any(pod["spec"].get("nodeName") for pod in pods)


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_two_jobs_that_share_a_quota_for_one_of_them_both_complete(
    namespace: KubeNamespace, slots: PodSlots, tmp_path: Path, intranet: str
) -> None:
    """Each may get some of its pods, so that neither gets all: one of them has to make way."""
    slots.offer(4, 4)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "5"}}}
    namespace.create(quota)
    with operator(namespace, tmp_path, "--gang-timeout=5s"):
        for name in ("one", "two"):
            namespace.create(paddle_job(name, intranet=intranet, worker=slots.role(4, _SLEEPS)))
        for name in ("one", "two"):
            namespace.await_object("PaddleJob", name, _completed, timeout_s=_LONG_S)


def test_a_job_that_exceeds_its_quota_runs_not_even_in_part_and_lets_others_run(
    namespace: KubeNamespace, slots: PodSlots, tmp_path: Path
) -> None:
    slots.offer(4, 4)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "3"}}}
    namespace.create(quota)
    with operator(namespace, tmp_path, "--gang-timeout=5s"):
        namespace.create(paddle_job("large", intranet="Service", worker=slots.role(5, _SLEEPS)))
        namespace.await_all("Pod", lambda found: len(found) == 3, timeout_s=_LONG_S)
        namespace.create(paddle_job("small", worker=slots.role(2, _SLEEPS)))
        namespace.await_object("PaddleJob", "small", _completed, timeout_s=_LONG_S)
        assert "startTime" not in namespace.get("PaddleJob", "large").get("status", {})


def test_without_the_right_to_read_nodes_jobs_start_and_the_log_says_that_nobody_guards_them(
    namespace: KubeNamespace, slots: PodSlots, tmp_path: Path
) -> None:
    slots.offer(2, 1)
    with operator(namespace, tmp_path, rights=()) as started:
        namespace.create(paddle_job("gang", worker=slots.role(4, WAITS)))
        pods = namespace.await_all("Pod", lambda found: len(found) == 4, timeout_s=_LONG_S)
        assert not any(pod["spec"].get("schedulingGates") for pod in pods)
        started.await_log("the gang guard is off")


def _groups(namespace: KubeNamespace, api: str) -> list[Object]:
    items: list[Object] = namespace.kube.request("GET", f"/apis/{api}/namespaces/{namespace.name}/podgroups")["items"]
    return items


def test_volcano_gets_a_pod_group_and_pods_when_it_is_in_the_queue(namespace: KubeNamespace, tmp_path: Path) -> None:
    install_volcano(namespace.kube)
    volcano = VolcanoStandIn(namespace)
    with operator(namespace, tmp_path, "--scheduling=volcano", rights=("podgroup",)):
        requests = {"containers": [_container({"requests": {"cpu": "10m"}, "limits": {"memory": "32Mi"}})]}
        roles = {"ps": paddle_role(1, SUCCEEDS, **requests), "worker": paddle_role(2, SUCCEEDS, **requests)}
        policy = {"queue": "research", "priorityClass": "high"}
        namespace.create(paddle_job("gang", cleanPodPolicy="Never", schedulingPolicy=policy, **roles))
        group = volcano.await_group("gang")
        assert group["spec"] == {
            "minMember": 3,
            "minResources": {"cpu": "30m", "memory": str(3 * 32 * 2**20)},
            "queue": "research",
            "priorityClassName": "high",
        }
        namespace.await_object("PaddleJob", "gang", lambda job: _is_admitted(job) == "False", timeout_s=_LONG_S)
        assert not namespace.all("Pod")
        volcano.set_phase("gang", "Inqueue")
        pods = namespace.await_all("Pod", lambda found: len(found) == 3, timeout_s=_LONG_S)
        for pod in pods:
            annotations = pod["metadata"]["annotations"]
            assert pod["spec"]["schedulerName"] == "volcano"
            assert annotations["scheduling.k8s.io/group-name"] == annotations["volcano.sh/job-name"] == "gang"
            assert annotations["volcano.sh/task-spec"] == pod["metadata"]["labels"]["paddle-res-type"]
            assert annotations["volcano.sh/queue-name"] == "research"
            assert annotations["volcano.sh/job-version"] == "0"
        volcano.bind("gang", _first_node(namespace.kube))
        namespace.await_object("PaddleJob", "gang", _completed, timeout_s=_LONG_S)
        volcano.await_no_group()


def test_the_users_own_volcano_group_is_joined_by_all_pods_and_left_alone(
    namespace: KubeNamespace, tmp_path: Path
) -> None:
    install_volcano(namespace.kube)
    volcano = VolcanoStandIn(namespace)
    with operator(namespace, tmp_path):
        worker = paddle_role(1, SUCCEEDS, schedulerName="volcano")
        namespace.create(paddle_job("gang", ps=paddle_role(1, SUCCEEDS), worker=worker))
        group = {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": "gang"}, "spec": {"minMember": 2}}
        namespace.create(group)
        pods = namespace.await_all("Pod", lambda found: len(found) == 2, timeout_s=_LONG_S)
        for pod in pods:
            assert pod["spec"]["schedulerName"] == "volcano"
            assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "gang"
        volcano.bind("gang", _first_node(namespace.kube))
        namespace.await_object("PaddleJob", "gang", _completed, timeout_s=_LONG_S)
        assert [group["metadata"]["name"] for group in volcano.groups()] == ["gang"]


def _first_node(kube: Kube) -> str:
    return min(str(node["metadata"]["name"]) for node in kube.nodes())


def _container(resources: Object) -> Object:
    return {"name": "paddle", "image": "local/python:1", "command": list(SUCCEEDS), "resources": resources}
