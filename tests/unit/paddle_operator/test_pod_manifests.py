"""The variables of pods in every mode, against paddle-operator's, and the pods that carry them."""

import re
from dataclasses import replace
from typing import Any

import pytest

from muster.operator.job.environment import gang_variables, peers_digest, pod_port
from muster.operator.job.pod_states import PodState
from muster.operator.job.ports import Claim, PortRange, block_for, parse_range
from muster.operator.planning.manifests import restart_policy
from tests.unit.paddle_operator.building import Cluster, environment, job_object, make_job, role

pytestmark = pytest.mark.fast

MODES: dict[str, dict[str, Any]] = {"PS": {"ps": 2, "worker": 2}, "Collective": {"worker": 2}, "Single": {"worker": 1}}
BLOCK = 35020
HOST_PLACES = {"demo-ps-0": 17, "demo-ps-1": 16, "demo-worker-0": 0, "demo-worker-1": 1}
GLOO = {"PADDLE_WITH_GLOO", "PADDLE_GLOO_RENDEZVOUS", "PADDLE_GLOO_HTTP_ENDPOINT"}


def started(mode: str, intranet: str, gloo: int | None, **more: Any) -> Cluster:
    cluster = Cluster(job_object(**MODES[mode], intranet=intranet, withGloo=gloo, **more))
    if intranet == "Host":
        cluster.world = replace(cluster.world, first_port=BLOCK)
    cluster.start()
    return cluster


def host(cluster: Cluster, intranet: str, name: str) -> str:
    return name if intranet == "Service" else cluster.pods[name].address


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("intranet", ["PodIP", "Service", "Host"])
@pytest.mark.parametrize("gloo", [None, 0, 1, 2])
def test_variables_are_those_of_paddle_operator(mode: str, intranet: str, gloo: int | None) -> None:
    cluster = started(mode, intranet, gloo)
    names = list(cluster.pods)
    ports = {name: BLOCK + HOST_PLACES[name] if intranet == "Host" else 36000 for name in names}
    first = BLOCK if intranet == "Host" else 36000

    def listed(kind: str) -> str:
        return ",".join(f"{host(cluster, intranet, name)}:{ports[name]}" for name in names if f"-{kind}-" in name)

    workers = [name for name in names if "-worker-" in name]
    for name in names:
        env = environment(cluster, name)
        kind, index = name.split("-")[1:]
        word = "PSERVER" if kind == "ps" else "TRAINER"
        assert env["POD_IP"] == host(cluster, intranet, name)
        assert env["PADDLE_TRAINER_ID"] == index
        assert (env["TRAINING_ROLE"], env["PADDLE_TRAINING_ROLE"]) == (word, word)
        assert env["TRAINER_PORTS_NUM"] == "20"
        assert env["PADDLE_PORT"] == str(ports[name])
        assert env["PADDLE_TRAINER_ENDPOINTS"] == listed("worker")
        assert env["PADDLE_TRAINERS"] == ",".join(host(cluster, intranet, worker) for worker in workers)
        assert env["PADDLE_TRAINERS_NUM"] == str(len(workers))
        assert env.get("PADDLE_PSERVERS_IP_PORT_LIST") == (listed("ps") if mode == "PS" else None)
        assert "PADDLE_HETER_ENDPOINTS" not in env
        if gloo and mode == "PS":
            assert (env["PADDLE_WITH_GLOO"], env["PADDLE_GLOO_RENDEZVOUS"]) == (str(gloo), "3")
            assert env["PADDLE_GLOO_HTTP_ENDPOINT"] == f"{host(cluster, intranet, 'demo-ps-0')}:{first + 18}"
        else:
            assert not GLOO & env.keys()
    assert cluster.config is not None
    shown = environment(cluster, names[0])
    assert cluster.config == {key: shown[key] for key in cluster.config} | {"PADDLE_PORT": str(first)}
    assert {
        "TRAINER_PORTS_NUM",
        "PADDLE_PORT",
        "PADDLE_TRAINER_ENDPOINTS",
        "PADDLE_TRAINERS",
        "PADDLE_TRAINERS_NUM",
    } <= (cluster.config.keys())


def test_no_two_pods_of_a_job_share_a_port_of_a_node_and_gloo_has_its_own() -> None:
    cluster = started("PS", "Host", 1)
    envs = [environment(cluster, name) for name in cluster.pods]
    ports = [int(env["PADDLE_PORT"]) for env in envs]
    assert len({*ports, BLOCK + 18}) == len(ports) + 1
    declared = [pod["spec"]["containers"][0]["ports"] for pod in cluster.manifests.values()]
    assert declared == [[{"containerPort": port}] for port in ports]
    assert all(pod["spec"]["hostNetwork"] for pod in cluster.manifests.values())
    assert cluster.raw["metadata"]["annotations"] == {"host-port": str(BLOCK)}


def test_ports_stay_when_a_job_is_scaled() -> None:
    before = [pod_port(make_job(ps=1, worker=2, intranet="Host"), "worker", place, BLOCK) for place in range(2)]
    after = [pod_port(make_job(ps=9, worker=2, intranet="Host"), "worker", place, BLOCK) for place in range(2)]
    assert before == after


def test_ipv6_addresses_are_bracketed() -> None:
    cluster = Cluster(job_object(worker=2))
    cluster.settle()
    for number, name in enumerate(cluster.pods):
        cluster.set(name, PodState.PENDING, address=f"fd00::{number + 1}")
    cluster.settle()
    env = environment(cluster, "demo-worker-1")
    assert env["PADDLE_TRAINER_ENDPOINTS"] == "[fd00::1]:36000,[fd00::2]:36000"
    assert env["PADDLE_TRAINERS"] == "fd00::1,fd00::2"
    assert env["PADDLE_CURRENT_ENDPOINT"] == "[fd00::2]:36000"


@pytest.mark.parametrize("intranet", ["PodIP", "Host"])
@pytest.mark.parametrize(
    "spec",
    [{"ps": 2, "worker": 2, "heter": 2, "withGloo": 1}, {"worker": 2}, {"worker": 2, "elastic": 1}, {"ps": 1}],
    ids=["ps", "collective", "elastic", "servers-only"],
)
def test_no_ipv6_address_stands_before_a_port_without_brackets(spec: dict[str, Any], intranet: str) -> None:
    cluster = Cluster(job_object(intranet=intranet, **spec))
    cluster.settle()
    for number, name in enumerate(cluster.pods):
        cluster.set(name, PodState.PENDING, address=f"fd00::{number + 1}")
    cluster.settle()
    assert cluster.config is not None
    places = [cluster.config, *(environment(cluster, name) for name in cluster.pods)]
    joined = [
        one
        for variables in places
        for key, value in variables.items()
        if key.endswith(("_ENDPOINT", "_ENDPOINTS", "_PORT_LIST", "_MASTER"))
        for one in value.split(",")
        if one
    ]
    assert joined
    assert [one for one in joined if not re.fullmatch(r"\[fd00::\d+\]:\d+", one)] == []
    bare = [value for variables in places for key, value in variables.items() if key in ("POD_IP", "PADDLE_TRAINERS")]
    assert not any("[" in value for value in bare)


def test_heter_workers_have_their_own_ids_and_endpoints() -> None:
    cluster = Cluster(job_object(ps=1, worker=2, heter=2))
    cluster.start()
    env = environment(cluster, "demo-heter-1")
    assert (env["TRAINING_ROLE"], env["PADDLE_TRAINER_ID"]) == ("HETER", "1")
    assert len(env["PADDLE_HETER_ENDPOINTS"].split(",")) == 2
    assert env["PADDLE_TRAINERS_NUM"] == "2"


def test_an_elastic_job_gets_its_variables_and_a_file_with_the_endpoints() -> None:
    cluster = Cluster(job_object(worker=2, elastic=1))
    cluster.start()
    env = environment(cluster, "demo-worker-0")
    assert env["PADDLE_ELASTIC_JOB_ID"] == "lab-demo"
    assert (env["PADDLE_ELASTIC_NP"], env["PADDLE_ELASTIC_TIMEOUT"]) == ("2", "60")
    assert "PADDLE_ELASTIC_SERVER" not in env
    spec = cluster.manifests["demo-worker-0"]["spec"]
    assert spec["restartPolicy"] == "OnFailure"
    assert spec["containers"][0]["volumeMounts"][-1]["mountPath"] == "/etc/paddle-job"


@pytest.mark.parametrize("intranet", ["PodIP", "Service", "Host"])
@pytest.mark.parametrize("kind", ["ps", "worker", "heter"])
@pytest.mark.parametrize("given", [None, "Never", "OnFailure", "Always"])
@pytest.mark.parametrize("elastic", [None, 1])
def test_restart_policy(intranet: str, kind: str, given: str | None, elastic: int | None) -> None:
    job = make_job(ps=1, worker=1, heter=1, intranet=intranet, elastic=elastic)
    one = job.role(kind)
    assert one is not None
    if given is not None:
        one.template["spec"]["restartPolicy"] = given
    expected = given or ("OnFailure" if intranet == "Service" and kind == "worker" else "Never")
    assert restart_policy(job, one) == ("OnFailure" if elastic else expected)


def pod_of(template: dict[str, Any], **more: Any) -> dict[str, Any]:
    raw = job_object(**more)
    raw["spec"]["worker"] = {"replicas": 1, "template": template}
    cluster = Cluster(raw)
    cluster.settle()
    return dict(cluster.manifests["demo-worker-0"])


def test_the_template_is_copied_whole() -> None:
    template = {
        "metadata": {"labels": {"team": "vision"}, "annotations": {"note": "x"}},
        "spec": {
            "nodeSelector": {"gpu": "p100"},
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
            "initContainers": [{"name": "data", "image": "get:1"}],
            "someFieldOfTheFuture": {"a": 1},
            "containers": [
                {
                    "name": "paddle",
                    "image": "train:1",
                    "env": [{"name": "A", "value": "$(PADDLE_TRAINER_ID)"}, {"name": "PADDLE_PORT", "value": "1"}],
                    "resources": {
                        "requests": {"cpu": "2"},
                        "limits": {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": 1},
                    },
                    "securityContext": {"runAsUser": 1000},
                    "imagePullPolicy": "Never",
                },
                {"name": "sidecar", "image": "side:1"},
            ],
        },
    }
    pod = pod_of(template)
    spec, metadata = pod["spec"], pod["metadata"]
    assert metadata["labels"]["team"] == "vision"
    assert metadata["labels"]["paddle-res-name"] == "demo-worker-0"
    assert metadata["labels"]["paddle-res-type"] == "worker"
    assert metadata["annotations"] == {"note": "x", "paddle-resource": "worker"}
    assert metadata["ownerReferences"][0]["uid"] == "u1"
    assert not metadata["ownerReferences"][0]["blockOwnerDeletion"]
    for key in ("nodeSelector", "tolerations", "someFieldOfTheFuture"):
        assert spec[key] == template["spec"][key]  # type: ignore[index]
    assert (spec["hostname"], spec["subdomain"]) == ("demo-worker-0", "demo-worker-0")
    assert [one["name"] for one in spec["initContainers"]] == ["data", "coord-paddle", "coord-paddle-ready"]
    for one in spec["initContainers"][1:]:
        assert one["image"] == "train:1"
        assert one["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2", "memory": "4Gi"}}
        assert one["securityContext"] == {"runAsUser": 1000}
        assert one["imagePullPolicy"] == "Never"
    assert spec["containers"][1] == {"name": "sidecar", "image": "side:1"}
    env = spec["containers"][0]["env"]
    assert env[0]["name"] == "POD_IP"
    assert env[-2:] == [{"name": "A", "value": "$(PADDLE_TRAINER_ID)"}, {"name": "PADDLE_PORT", "value": "1"}]
    assert [one["name"] for one in env].count("PADDLE_PORT") == 1
    assert {"name": "FLAGS_selected_gpus", "value": "0"} in env


def test_a_pod_with_another_accelerator_chooses_its_own_backend() -> None:
    limits = {"resources": {"limits": {"huawei.com/Ascend910": "1"}}}
    template = {"spec": {"containers": [{"name": "paddle", "image": "train:1", **limits}]}}
    names = [one["name"] for one in pod_of(template)["spec"]["containers"][0]["env"]]
    assert "PADDLE_DISTRI_BACKEND" not in names
    assert "FLAGS_selected_gpus" not in names


def test_a_sample_set_is_a_claim_that_is_mounted_into_workers() -> None:
    cluster = Cluster(job_object(ps=1, worker=1, sampleSetRef={"name": "imagenet", "mountPath": "/data"}))
    cluster.settle()
    spec = cluster.manifests["demo-worker-0"]["spec"]
    assert {"name": "sample-set", "persistentVolumeClaim": {"claimName": "imagenet"}} in spec["volumes"]
    assert {"name": "sample-set", "mountPath": "/data"} in spec["containers"][0]["volumeMounts"]
    assert "sample-set" not in str(cluster.manifests["demo-ps-0"])


def test_service_mode_needs_no_holding_and_declares_its_port() -> None:
    raw = job_object(intranet="Service")
    raw["spec"]["worker"] = role(1)
    cluster = Cluster(raw)
    cluster.settle()
    spec = cluster.manifests["demo-worker-0"]["spec"]
    assert "initContainers" not in spec
    assert spec["containers"][0]["ports"] == [{"containerPort": 36000}]
    assert environment(cluster, "demo-worker-0")["PADDLE_TRAINER_ENDPOINTS"] == "demo-worker-0:36000"


def test_blocks_of_ports_are_never_given_twice() -> None:
    ports = PortRange(35000, 35059)
    claims: list[Claim] = []
    for number in range(3):
        block = block_for(f"u{number}", claims, ports)
        assert block is not None
        claims.append(Claim(f"u{number}", float(number), block))
    assert [claim.block for claim in claims] == [35000, 35020, 35040]
    assert block_for("u9", claims, ports) is None
    assert [block_for(claim.uid, claims, ports) for claim in claims] == [35000, 35020, 35040]


def test_a_copied_block_belongs_to_the_older_job() -> None:
    ports = PortRange()
    claims = [Claim("old", 1.0, 35000), Claim("copy", 2.0, 35000)]
    assert block_for("old", claims, ports) == 35000
    assert block_for("copy", claims, ports) == 35020


def test_a_block_outside_the_range_is_given_up() -> None:
    assert block_for("u", [Claim("u", 1.0, 100)], PortRange()) == 35000


@pytest.mark.parametrize("text", ["", "1", "a,b", "5,1", "35000,35001", "60000,70000"])
def test_a_range_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_range(text)


def test_the_digest_of_the_peers_changes_whenever_a_variable_does() -> None:
    jobs = [
        make_job(ps=1, worker=2),
        make_job(ps=1, worker=3),
        make_job(ps=2, worker=2),
        make_job(ps=1, worker=2, withGloo=1),
        make_job(ps=1, worker=2, heter=1),
        make_job(ps=1, worker=2, elastic=1),
        make_job(worker=2),
    ]
    cases = [
        (job, {name: f"10.{net}.0.{place}" for place, name in enumerate(job.pod_names)}, port)
        for job in jobs
        for net in (0, 1)
        for port in (36000, 35000)
    ]
    found = {}
    for job, addresses, port in cases:
        changing = {name: dict(own.changing) for name, own in gang_variables(job, addresses, port).pods.items()}
        found[peers_digest(job, addresses, port)] = changing
    assert len(found) == len(cases)
    assert peers_digest(*cases[0]) == peers_digest(*cases[0])
