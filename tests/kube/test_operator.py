"""The operator on a real cluster: jobs run, end, and change while they run. One operator serves all of them."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from muster.operator.job.paddle_job import CleanPolicy
from muster.operator.planning.cleaning import CLEANED
from muster.operator.planning.conditions import find
from tests.parts.kube import Kube, KubeNamespace, new_namespace, phase, pod
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import (
    FAILS,
    SUCCEEDS,
    UNTIL_RELEASED,
    WAITS,
    await_workers,
    install_definition,
    paddle_job,
    paddle_role,
    release,
)

pytestmark = pytest.mark.kube
Object = dict[str, Any]
PATIENCE_S = 120


@pytest.fixture(scope="module")
def served(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeNamespace]:
    """A namespace with an operator. Jobs have names of their own, and are left to the end."""
    install_definition(kube)
    namespace = new_namespace(kube, f"operator-{secrets.token_hex(3)}")
    log = tmp_path_factory.mktemp("operator") / "log"
    with running_operator(kube.cluster.kubeconfig, log, f"--namespace={namespace.name}"):
        yield namespace
    namespace.remove()


def await_phase(served: KubeNamespace, name: str, *phases: str) -> Object:
    return served.await_object("PaddleJob", name, lambda found: phase(found) in phases, PATIENCE_S)


def pods_of(served: KubeNamespace, name: str) -> list[Object]:
    found = served.all("Pod", f"batch.paddlepaddle.org/job-name={name}")
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def report(found: Object) -> dict[str, str]:
    """The variables that the main container of a pod saw."""
    ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
    return dict(json.loads(ended["message"]))


def condition(job: Object, kind: str) -> Object:
    return dict(find(job.get("status", {}).get("conditions", ()), kind) or {})


def events_of(served: KubeNamespace, name: str) -> list[str]:
    return [one["reason"] for one in served.all("Event") if one["involvedObject"]["name"] == name]


def await_events(served: KubeNamespace, name: str, *reasons: str) -> None:
    """The operator writes events after the status that they are about."""
    served.await_all("Event", lambda _: set(reasons) <= set(events_of(served, name)))


@pytest.mark.parametrize("intranet", ["PodIP", "Service", "Host"])
def test_a_job_with_parameter_servers_completes(served: KubeNamespace, intranet: str) -> None:
    name = f"ps-{intranet.lower()}"
    ps, worker = paddle_role(2, WAITS), paddle_role(2, SUCCEEDS)
    served.create(paddle_job(name, ps=ps, worker=worker, intranet=intranet, withGloo=1, cleanPodPolicy="Never"))
    job = await_phase(served, name, "Completed")
    assert (job["status"]["worker"]["succeeded"], job["status"]["worker"]["ready"]) == (2, "0/2")
    pods = pods_of(served, name)
    addresses = [one["metadata"]["name"] if intranet == "Service" else one["status"]["podIP"] for one in pods]
    first = int(job["metadata"]["annotations"]["host-port"]) if intranet == "Host" else 36000
    ports = [first + 17, first + 16, first, first + 1] if intranet == "Host" else [first] * 4
    endpoints = [f"{address}:{port}" for address, port in zip(addresses, ports, strict=True)]
    for place, one in enumerate(pods[2:]):
        env = report(one)
        assert env["PADDLE_PSERVERS_IP_PORT_LIST"] == ",".join(endpoints[:2])
        assert env["PADDLE_TRAINER_ENDPOINTS"] == ",".join(endpoints[2:])
        assert env["PADDLE_GLOO_HTTP_ENDPOINT"] == f"{addresses[0]}:{first + 18}"
        assert (env["POD_IP"], env["PADDLE_TRAINER_ID"]) == (addresses[2 + place], str(place))
        assert env["PADDLE_CURRENT_ENDPOINT"] == endpoints[2 + place]
    config = served.get("ConfigMap", name)
    assert config["metadata"]["labels"]["paddle-res-name"] == name
    assert config["data"]["PADDLE_TRAINER_ENDPOINTS"] == ",".join(endpoints[2:])
    assert "Failed" not in [reason for one in pods for reason in events_of(served, one["metadata"]["name"])]
    assert events_of(served, name) == ["Created"]


def test_heter_workers_run_beside_servers_and_workers(served: KubeNamespace) -> None:
    """The job is complete when its workers are, and the heter workers know all others."""
    roles = {"ps": paddle_role(1, WAITS), "worker": paddle_role(1, UNTIL_RELEASED), "heter": paddle_role(2, SUCCEEDS)}
    served.create(paddle_job("heter", **roles, cleanPodPolicy="Never"))
    for index in range(2):
        served.await_object("Pod", f"heter-heter-{index}", _has_succeeded, PATIENCE_S)
    assert await_phase(served, "heter", "Running")["status"]["heter"]["succeeded"] in (0, 1, 2)
    release(served, "heter-worker-0")
    job = await_phase(served, "heter", "Completed")
    assert (job["status"]["heter"]["succeeded"], job["status"]["mode"]) == (2, "PS")
    first, second, server, worker = pods_of(served, "heter")
    endpoints = [f"{one['status']['podIP']}:36000" for one in (first, second, server, worker)]
    for place, one in enumerate((first, second)):
        env = report(one)
        assert (env["TRAINING_ROLE"], env["PADDLE_TRAINER_ID"]) == ("HETER", str(place))
        assert env["PADDLE_HETER_ENDPOINTS"] == ",".join(endpoints[:2])
        assert env["PADDLE_PSERVERS_IP_PORT_LIST"] == endpoints[2]
        assert (env["PADDLE_TRAINER_ENDPOINTS"], env["PADDLE_TRAINERS_NUM"]) == (endpoints[3], "1")
    assert served.get("ConfigMap", "heter")["data"]["PADDLE_HETER_ENDPOINTS"] == ",".join(endpoints[:2])


def _has_succeeded(one: Object) -> bool:
    return bool(one["status"].get("phase") == "Succeeded")


def test_a_collective_job_completes_and_is_cleaned(served: KubeNamespace) -> None:
    served.create(paddle_job("collective", worker=paddle_role(2, SUCCEEDS), intranet="Service"))
    job = await_phase(served, "collective", "Completed")
    assert job["status"]["mode"] == "Collective"
    for kind in ("Pod", "Service"):
        served.await_all(kind, lambda found: not found, "batch.paddlepaddle.org/job-name=collective", PATIENCE_S)


def test_a_failed_worker_fails_the_job_and_the_pods_stay(served: KubeNamespace) -> None:
    served.create(paddle_job("failing", ps=paddle_role(1, WAITS), worker=paddle_role(1, FAILS), cleanPolicy="Always"))
    job = await_phase(served, "failing", "Failed")
    assert condition(job, "Failed")["message"] == "failing-worker-0: container paddle exited with code 1"
    assert "cleanPodPolicy" in condition(job, "FieldsIgnored")["message"]
    assert len(pods_of(served, "failing")) == 2
    await_events(served, "failing", "Failed", "FieldsIgnored")


def test_a_gang_is_restarted_as_a_whole_until_it_succeeds(served: KubeNamespace) -> None:
    """The pods fail in the first attempt, and succeed in the second: they find the number in their job's id."""
    command = ("python3", "-c", "import os, sys; sys.exit(os.environ['PADDLE_JOB_ID'].endswith('.0'))")
    worker = paddle_role(2, command)
    served.create(paddle_job("again", worker=worker, backoffLimit=1, restartBackoffSeconds=0, cleanPodPolicy="Never"))
    job = await_phase(served, "again", "Completed", "Failed")
    assert (job["status"]["phase"], job["status"]["restarts"]) == ("Completed", 1)
    await_events(served, "again", "Restarting")


def test_a_running_job_changes(served: KubeNamespace) -> None:
    """A pod that is deleted is made again, the number of workers changes, and the job is suspended and resumed."""
    served.create(paddle_job("changing", worker=paddle_role(2, WAITS), ttlSecondsAfterFinished=0))
    await_phase(served, "changing", "Running")
    before = served.get("Pod", "changing-worker-1")
    served.delete("Pod", "changing-worker-1")
    replaced = served.await_object("Pod", "changing-worker-1", lambda one: _is_other(one, before), PATIENCE_S)
    peers = served.await_object("ConfigMap", "changing", lambda one: _lists(one, replaced, served), PATIENCE_S)["data"]
    annotation = "env.batch.paddlepaddle.org/PADDLE_TRAINER_ENDPOINTS"
    served.await_object(
        "Pod",
        "changing-worker-0",
        lambda one: one["metadata"]["annotations"][annotation] == peers["PADDLE_TRAINER_ENDPOINTS"],
        PATIENCE_S,
    )
    for count in (3, 1):
        served.patch("PaddleJob", "changing", {"spec": {"worker": {"replicas": count}}})
        await_size(served, "changing", count)
    served.await_all("Pod", lambda found: len(found) == 1, "batch.paddlepaddle.org/job-name=changing", PATIENCE_S)
    await_events(served, "changing", "Scaled")
    served.patch("PaddleJob", "changing", {"spec": {"suspend": True}})
    await_phase(served, "changing", "Suspended")
    served.await_gone("Pod", "changing-worker-0", PATIENCE_S)
    served.patch("PaddleJob", "changing", {"spec": {"suspend": False}})
    await_phase(served, "changing", "Running")
    served.patch("PaddleJob", "changing", {"spec": {"activeDeadlineSeconds": 1}})
    served.await_gone("PaddleJob", "changing", PATIENCE_S)


def await_size(served: KubeNamespace, name: str, count: int) -> None:
    """Wait until so many workers run and know of each other."""
    served.await_object("ConfigMap", name, lambda one: one["data"]["PADDLE_TRAINERS_NUM"] == str(count), PATIENCE_S)
    await_workers(served, name, count)


def _is_other(one: Object, before: Object) -> bool:
    return bool(one["metadata"]["uid"] != before["metadata"]["uid"] and one["status"].get("podIP"))


def _lists(config: Object, one: Object, served: KubeNamespace) -> bool:
    address = served.get("Pod", one["metadata"]["name"])["status"].get("podIP", "?")
    return bool(config["data"]["PADDLE_TRAINERS"].split(",")[-1] == address)


def test_a_pod_of_somebody_else_is_left_alone(served: KubeNamespace) -> None:
    foreign = pod("taken-worker-0", *WAITS)
    uid = served.create(foreign)["metadata"]["uid"]
    served.create(paddle_job("taken", worker=paddle_role(2, SUCCEEDS)))
    job = served.await_object("PaddleJob", "taken", lambda one: condition(one, "NameConflict"), PATIENCE_S)
    assert "taken-worker-0" in condition(job, "NameConflict")["message"]
    assert served.get("Pod", "taken-worker-0")["metadata"]["uid"] == uid
    served.delete("Pod", "taken-worker-0", grace_s=0)
    job = await_phase(served, "taken", "Completed")
    assert condition(job, "NameConflict")["status"] == "False"


def test_what_the_api_server_refuses_is_shown_until_it_is_allowed(served: KubeNamespace) -> None:
    worker = paddle_role(1, SUCCEEDS, priorityClassName="none-such")
    served.create(paddle_job("refused", worker=worker))
    job = served.await_object("PaddleJob", "refused", lambda one: condition(one, "PodsCreated"), PATIENCE_S)
    assert "none-such" in condition(job, "PodsCreated")["message"]
    served.patch("PaddleJob", "refused", {"spec": {"worker": paddle_role(1, SUCCEEDS)}})
    served.patch("PaddleJob", "refused", [{"op": "remove", "path": "/spec/worker/template/spec/priorityClassName"}])
    await_phase(served, "refused", "Completed")


def test_why_a_container_does_not_start_is_shown_on_the_job(served: KubeNamespace) -> None:
    role = paddle_role(1, SUCCEEDS)
    role["template"]["spec"]["containers"][0]["image"] = "registry.invalid/nothing:1"
    served.create(paddle_job("unpulled", worker=role))
    found = served.await_object("PaddleJob", "unpulled", lambda job: condition(job, "PodsStarted"), PATIENCE_S)
    shown = condition(found, "PodsStarted")
    assert (shown["status"], shown["reason"]) == ("False", "NotStarting")
    assert "unpulled-worker-0: the image registry.invalid/nothing:1 of container" in shown["message"]


def test_an_elastic_job_goes_on_with_the_workers_that_there_is_room_for(served: KubeNamespace) -> None:
    """The second worker can never be scheduled."""
    command = ("python3", "-c", "import os, time\nwhile not os.path.exists('/tmp/done'): time.sleep(0.2)")
    worker = {**paddle_role(2, command), "requests": 1, "limits": 2}
    spread = {"topologyKey": "kubernetes.io/os", "labelSelector": {"matchLabels": {"only": "one"}}}
    worker["template"]["metadata"] = {"labels": {"only": "one"}}
    worker["template"]["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [spread]}
    }
    served.create(paddle_job("elastic", worker=worker, elastic=1))
    job = await_phase(served, "elastic", "Running")
    assert (job["status"]["elastic"], job["status"]["worker"]["ready"]) == ("DOING", "1/2")
    running = next(one for one in pods_of(served, "elastic") if phase(one) == "Running")
    assert running["metadata"]["annotations"]["env.batch.paddlepaddle.org/PADDLE_ELASTIC_NP"] == "1:2"


def test_every_policy_cleans_after_the_ends_that_it_names(served: KubeNamespace) -> None:
    """All cells of intranet, cleanPodPolicy and outcome, at the same time."""
    cells = [
        (f"{intranet}-{policy}-{end}".lower(), intranet, policy, end)
        for intranet in ("PodIP", "Service", "Host")
        for policy in CleanPolicy
        for end in ("Completed", "Failed")
    ]
    for name, intranet, policy, end in cells:
        worker = paddle_role(1, SUCCEEDS if end == "Completed" else FAILS, restartPolicy="Never")
        served.create(paddle_job(name, worker=worker, intranet=intranet, cleanPodPolicy=policy))
    for name, _, policy, end in cells:
        await_phase(served, name, end)
        if end in CLEANED[policy]:
            served.await_gone("Pod", f"{name}-worker-0", PATIENCE_S)
    kept = [name for name, _, policy, end in cells if end not in CLEANED[policy]]
    assert [name for name in kept if served.find("Pod", f"{name}-worker-0") is None] == []
