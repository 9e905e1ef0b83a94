"""The objects of a gang, as they are created and as they are shown."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.backends.kubernetes.gang_objects import rendered
from muster.backends.kubernetes.names import address, gang_name, host_name, pod_name, user_namespace
from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.paddle_jobs import suits
from muster.backends.kubernetes.pods import secret_mode, unexpanded
from muster.backends.kubernetes.spec_support import cannot_honour
from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.specs import (
    Framework,
    Input,
    JobSpec,
    Mount,
    PackagePlace,
    Runtime,
    SecretUse,
    Spread,
    Ssh,
    Together,
    Where,
)
from muster.kubernetes.pod_groups import VOLCANO_GROUPS, kubernetes_groups
from muster.launch.folder_paths import with_absolute_paths
from tests.conftest import Golden
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.unit.backends.kubernetes.building import OPTIONS, a_launch, objects_of

pytestmark = pytest.mark.fast
OWNER = {"kind": "ConfigMap", "name": "muster-j1-1", "uid": "u1"}
LOGIN = b'{"auths": {"r.example.org": {"auth": "YWRhOmh1bnRlcjI="}}}'
GOLDEN = Path(__file__).parent / "golden"


def test_a_gang_is_shown_as_it_is_created(golden: Golden) -> None:
    spec = a_ps_spec(
        1,
        1,
        framework=Framework.PADDLE,
        package="a" * 64,
        env={"PASSWORD": "hunter2"},
        secrets=(SecretUse("key", "KEY"), SecretUse("key", file="key.pem")),
    )
    text = rendered(objects_of(a_launch(spec)))
    assert "hunter2" not in text
    golden(GOLDEN / "gang.yaml", text)


def test_names_follow_from_ids_and_differ_where_those_differ() -> None:
    assert gang_name("j1.2") == "muster-j1-2"
    assert pod_name("j1.2.worker.13") == "muster-j1-2-worker-13"
    assert address("j1.2.worker.13") == "worker-13.muster-j1-2"
    assert host_name("data_loader", 0) != host_name("data-loader", 0)
    assert len(host_name("A" * 32, 4095)) <= 63


@pytest.mark.parametrize("template", ["ml-{user}", "{user}", "{user}-jobs", "m" * 47 + "{user}"])
@pytest.mark.parametrize("user", ["Amy", "amy@example.org", "a" * 200, "-", "赵", "0123456789abcdef"])
def test_nobody_can_take_the_name_that_gives_them_the_namespace_of_another_user(template: str, user: str) -> None:
    before, _, after = template.partition("{user}")
    namespace = user_namespace(template, user)
    inner = namespace.removeprefix(before).removesuffix(after)
    assert len(namespace) <= 63
    assert user_namespace(template, inner) != namespace, "this name is a user's own, too"
    assert user_namespace(template, user.lower().replace("@", "-").replace(".", "-") + "x") != namespace


def test_a_plain_name_is_the_namespace_unless_it_is_one_of_kubernetes() -> None:
    assert user_namespace("ml-{user}", "amy") == "ml-amy"
    for template, user in (("kube-{user}", "system"), ("{user}", "kube-system"), ("{user}", "default")):
        assert user_namespace(template, user) not in ("kube-system", "default")


@pytest.mark.parametrize(
    ("text", "expected"), [("$HOME", "$HOME"), ("$(date)", "$$(date)"), ("$$", "$$$"), ("a$$(b", "a$$$$(b")]
)
def test_kubernetes_expands_nothing_in_commands_and_variables(text: str, expected: str) -> None:
    assert unexpanded(text) == expected


def test_a_gang_belongs_to_a_pod_group_of_kubernetes() -> None:
    groups = kubernetes_groups("v1alpha2")
    objects = replace(objects_of(a_launch(a_spec(a_role(replicas=3)))), groups=groups)
    group = objects.pod_group(OWNER)
    assert group is not None
    assert (group["metadata"]["name"], group["metadata"]["ownerReferences"]) == ("muster-j1-1", [OWNER])
    assert group["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert [pod["spec"]["schedulingGroup"] for pod in objects.pods(OWNER).values()] == [
        {"podGroupName": "muster-j1-1"}
    ] * 3
    kinds = [one["kind"] for one in yaml.safe_load_all(rendered(objects))]
    assert kinds == ["ConfigMap", "Service", "PodGroup", "Pod", "Pod", "Pod"]


def test_a_gang_belongs_to_a_pod_group_of_volcano() -> None:
    launch = a_launch(a_spec(a_role(replicas=2, cpu=2)))
    launch = replace(launch, started=frozenset({"j1.1.worker.0"}))
    objects = replace(objects_of(launch), groups=VOLCANO_GROUPS)
    group = objects.pod_group(OWNER)
    assert group is not None
    assert (group["spec"]["minMember"], group["spec"]["minResources"]["cpu"]) == (2, "4"), "also of those that run"
    (pod,) = objects.pods(OWNER).values()
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "muster-j1-1"


@pytest.mark.parametrize(
    ("spec", "name_of"),
    [(a_spec(), address), (a_ps_spec(1, 1, framework=Framework.PADDLE), pod_name)],
    ids=["single task", "PaddleJob"],
)
def test_a_single_pod_and_a_paddle_job_need_no_group(spec: JobSpec, name_of: Callable[[str], str]) -> None:
    objects = replace(objects_of(a_launch(spec, name_of=name_of)), groups=VOLCANO_GROUPS)
    assert objects.pod_group(OWNER) is None
    assert all("schedulerName" not in pod["spec"] for pod in objects.pods(OWNER).values())


def test_devices_are_limits_and_requests_of_the_container() -> None:
    role = a_role(extended=(("example.com/dsp", 2), ("xilinx.com/fpga", 1)))
    pods = objects_of(a_launch(a_spec(role))).pods(OWNER)
    (pod,) = pods.values()
    main = pod["spec"]["containers"][0]
    wanted = {"example.com/dsp": "2", "xilinx.com/fpga": "1"}
    assert main["resources"] == {"requests": {"cpu": "1000m", **wanted}, "limits": wanted}
    assert not [one["name"] for one in main["env"] if one["name"].startswith("MUSTER_DEVICES")]


def test_a_task_gets_its_environment_resources_and_place() -> None:
    role = a_role("worker", 2, cpu=2, memory=1 << 30, gpus=1, models=("A100",))
    where = Where(labels={"zone": "a", "ssd": "*"}, not_nodes=("n7",), spread=Spread.APART)
    launch = a_launch(a_spec(role, where=where, grace_s=2.5))
    pod = objects_of(launch).pods(OWNER)["j1.1.worker.1"]
    spec, (main,) = pod["spec"], pod["spec"]["containers"]
    env = {one["name"]: one.get("value") for one in main["env"]}
    assert (env["MUSTER_RANK"], env["MUSTER_HOSTS_WORKER"]) == ("1", "worker-0.muster-j1-1,worker-1.muster-j1-1")
    assert main["resources"]["limits"] == {"memory": str(1 << 30), "nvidia.com/gpu": "1"}
    assert main["resources"]["requests"]["cpu"] == "2000m"
    assert (spec["hostname"], spec["subdomain"], spec["terminationGracePeriodSeconds"]) == (
        "worker-1",
        "muster-j1-1",
        3,
    )
    assert spec["automountServiceAccountToken"] is False
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "ssd", "operator": "Exists"},
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n7"]},
        {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-A100-SXM4-80GB"]},
    ]
    assert spec["affinity"]["podAntiAffinity"]
    assert pod["metadata"]["annotations"]["muster/file.trainer_id"] == "1\n"


def test_a_gang_that_stays_together_has_an_affinity_to_itself() -> None:
    pods = objects_of(a_launch(a_spec(a_role("worker", 2), where=Where(together=Together.RACK)))).pods(OWNER)
    (rule,) = pods["j1.1.worker.0"]["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert (rule["topologyKey"], rule["labelSelector"]["matchLabels"]) == ("rack", {"muster/gang": "j1.1"})


def test_a_single_task_without_a_package_needs_no_step_before_it_and_no_service() -> None:
    objects = objects_of(a_launch(a_spec()))
    assert objects.service(OWNER) is None
    assert objects.secret(OWNER, {}) is None
    assert "initContainers" not in objects.pods(OWNER)["j1.1.worker.0"]["spec"]


@pytest.mark.parametrize(
    ("context", "mode"),
    [
        ({}, 0o444),
        ({"runAsUser": 0}, 0o400),
        ({"runAsUser": 1000, "fsGroup": 1000}, 0o400),
        ({"fsGroup": 1000}, 0o400),
        ({"runAsUser": 1000}, 0o444),
        ({"runAsNonRoot": True}, 0o444),
    ],
)
def test_files_with_secrets_are_readable_by_the_account_of_the_task(context: dict[str, Any], mode: int) -> None:
    assert secret_mode(KubernetesOptions(security_context=context)) == mode


def test_the_addresses_of_archives_and_the_values_of_secrets_are_in_the_secret_alone() -> None:
    spec = a_spec(
        package="a" * 64, inputs=(Input(f"{'b' * 64}/x.bin", "data/x.bin"),), secrets=(SecretUse("key", "KEY"),)
    )
    launch = replace(a_launch(spec), secret_values={"key": b"s3cret"})
    objects = objects_of(launch)
    urls = {"a" * 64: "http://server/a?signature=1", "b" * 64: "http://server/b?signature=2"}
    secret = objects.secret(OWNER, urls)
    assert secret is not None
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert data["secret.key"] == "s3cret"
    assert data["archives"].splitlines() == [
        f"{'a' * 64}\thttp://server/a?signature=1\t\t.",
        f"{'b' * 64}\thttp://server/b?signature=2\tx.bin\tdata/x.bin",
    ]
    others = yaml.safe_dump([objects.owner(), objects.pods(OWNER)])
    assert "signature" not in others
    assert "s3cret" not in others


def test_folders_of_the_cluster_are_mounted_where_the_job_wants_them() -> None:
    folders = (Folder("data", "/folders/data"), Folder("envs", "/folders/envs"))
    volumes = {
        "data": {"persistentVolumeClaim": {"claimName": "criteo"}},
        "envs": {"nfs": {"server": "s", "path": "/"}},
    }
    options = replace(OPTIONS, volumes=volumes)
    cluster = PhysicalCluster("k8s", "kubernetes", folders=folders, options=options)
    mounts = (Mount("data/train", "/data", read_only=True), Mount("data", "all"))
    spec = a_spec(mounts=mounts, runtime=Runtime(venv="envs/py310"))
    pod = objects_of(a_launch(spec, cluster), options, cluster).pods(OWNER)["j1.1.worker.0"]
    (main,) = pod["spec"]["containers"]
    found = [one for one in main["volumeMounts"] if one["name"].startswith("folder-")]
    assert found == [
        {"name": "folder-data", "mountPath": "/data", "subPath": "train", "readOnly": True},
        {"name": "folder-data", "mountPath": "/muster/work/all"},
        {"name": "folder-envs", "mountPath": "/folders/envs/py310", "subPath": "py310", "readOnly": True},
    ]
    assert {one["name"]: one for one in pod["spec"]["volumes"]}["folder-data"] == {
        "name": "folder-data",
        "persistentVolumeClaim": {"claimName": "criteo"},
    }


def test_the_cluster_file_decides_about_nodes_accounts_and_images() -> None:
    options = KubernetesOptions(
        image="default:1",
        init_image="fetch:1",
        service_account="runner",
        node_selector={"pool": "ml"},
        tolerations=({"operator": "Exists"},),
        image_pull_secrets=("registry",),
        priority_class="batch",
        scheduler="volcano",
    )
    pod = objects_of(a_launch(a_spec(package="a" * 64)), options).pods(OWNER)["j1.1.worker.0"]["spec"]
    assert (pod["containers"][0]["image"], pod["initContainers"][0]["image"]) == ("default:1", "fetch:1")
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("runner", True)
    assert (pod["nodeSelector"], pod["tolerations"]) == ({"pool": "ml"}, [{"operator": "Exists"}])
    assert (pod["priorityClassName"], pod["schedulerName"]) == ("batch", "volcano")
    assert pod["imagePullSecrets"] == [{"name": "registry"}]


def test_a_task_without_a_command_runs_the_entry_point_of_its_image_where_that_says() -> None:
    role = replace(a_role("worker", 1), command=())
    launch = a_launch(a_spec(role, runtime=Runtime(image="trainer:1"), framework=Framework.PADDLE))
    (pod,) = objects_of(launch).pods(OWNER).values()
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "trainer:1"
    assert not {"command", "workingDir"} & container.keys()
    assert not suits(launch.gang.spec), "an entry point cannot be given its rank"


def test_a_private_image_with_arguments_that_starts_where_it_says_is_shown_as_it_is_created(golden: Golden) -> None:
    role = replace(a_role("worker", 1), command=(), args=("--lr", "$(X)"))
    runtime = Runtime(image="r.example.org/trainer:1", workdir="image", pull_secret="registry")
    cluster = PhysicalCluster("k8s", "kubernetes", other_storages="claim:", options=OPTIONS)
    mounts = (Mount("claim:team.data", "/data", True, "team.data"), Mount("claim:out", "out", storage="out"))
    launch = a_launch(a_spec(role, runtime=runtime, mounts=mounts, package="a" * 64), cluster)
    objects = objects_of(replace(launch, secret_values={"registry": LOGIN}), cluster=cluster)
    text = rendered(objects)
    golden(GOLDEN / "private-image.yaml", text)
    assert "hunter2" not in text
    secret = objects.registry_secret(OWNER)
    assert secret is not None
    assert (secret["type"], secret["metadata"]["ownerReferences"]) == ("kubernetes.io/dockerconfigjson", [OWNER])
    assert json.loads(base64.b64decode(secret["data"][".dockerconfigjson"])) == json.loads(LOGIN)


def test_a_paddle_job_starts_in_the_path_that_its_runtime_says() -> None:
    runtime = Runtime(image="trainer:1", workdir="/workspace")
    launch = a_launch(a_ps_spec(1, 1, framework=Framework.PADDLE, runtime=runtime), name_of=pod_name)
    made = objects_of(launch).paddle_job(OWNER)
    for role in ("ps", "worker"):
        main = made["spec"][role]["template"]["spec"]["containers"][0]
        assert main["workingDir"] == "/workspace"
        variables = {one["name"]: one.get("value") for one in main["env"]}
        assert variables["MUSTER_TASK_DIR"] == "/muster/task"
        assert "HOME" not in variables
        assert {"name": "work", "mountPath": "/muster/task/work"} in main["volumeMounts"]


def test_a_claim_that_is_no_folder_is_mounted_only_where_the_file_permits_it() -> None:
    spec = a_spec(runtime=Runtime(image="trainer:1"), mounts=(Mount("claim:x", "/data", storage="x"),))
    closed = PhysicalCluster("k8s", "kubernetes", options=OPTIONS)
    assert [one.path for one in cannot_honour(spec, closed, OPTIONS)] == ["mounts[0].storage"]
    assert list(cannot_honour(spec, replace(closed, other_storages="claim:"), OPTIONS)) == []
    by_source = replace(spec, mounts=(Mount("claim:x", "/data"),))
    assert list(cannot_honour(by_source, replace(closed, other_storages="claim:"), OPTIONS)) != []


def test_a_package_in_a_folder_of_the_cluster_is_mounted_where_its_command_enters_it() -> None:
    cluster = PhysicalCluster("kube", "kubernetes", folders=(Folder("data", "/folders/data"),))
    options = replace(OPTIONS, volumes={"data": {"persistentVolumeClaim": {"claimName": "data"}}})
    spec = with_absolute_paths(replace(a_spec(), package_place=PackagePlace("kube", "data/mine")), cluster)
    objects = replace(objects_of(a_launch(spec)), cluster=cluster, options=options)
    [pod] = objects.pods(OWNER).values()
    main = pod["spec"]["containers"][0]
    assert {"name": "folder-data", "mountPath": "/folders/data"} in main["volumeMounts"]
    assert "/folders/data/mine" in main["command"]


def test_tasks_with_ssh_get_the_keys_of_the_job_as_files_and_no_paddle_job() -> None:
    spec = replace(a_ps_spec(1, 1, framework=Framework.PADDLE), ssh=Ssh())
    assert not suits(spec)
    launch = replace(a_launch(spec), secret_values={".ssh-key": b"private", ".ssh-host-key": b"host"})
    objects = objects_of(launch)
    secret = objects.secret(OWNER, {})
    assert secret is not None
    assert base64.b64decode(secret["data"]["secret..ssh-key"]) == b"private"
    text = rendered(objects)
    assert base64.b64encode(b"private").decode() not in text
    pod = next(iter(objects.pods(OWNER).values()))
    [volume] = [one for one in pod["spec"]["volumes"] if one["name"] == "secrets"]
    assert [item["path"] for item in volume["secret"]["items"]] == [".muster/ssh-key", ".muster/ssh-host-key"]
