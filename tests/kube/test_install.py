"""Installing the operator with kubectl and with helm, running a job, and removing it all while a job is alive.

These tests remove the definition of PaddleJob, so they use a cluster of their own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.kube.requirements import ClusterUnavailable
from tests.parts.kube import Kube, KubeNamespace
from tests.parts.kube_session import empty_cluster
from tests.parts.operator_image import pack_operator_image
from tests.parts.paddle_jobs import DEPLOY, SUCCEEDS, WAITS, await_definition, paddle_job, paddle_role

pytestmark = pytest.mark.kube
FILES = ("-f", str(DEPLOY / "v1" / "crd.yaml"), "-f", str(DEPLOY / "v1" / "operator.yaml"))
DATA = DEPLOY.parent / "tests" / "data" / "paddlejobs"
CHART = str(DEPLOY / "helm" / "paddle-operator")
DEFINITION = "paddlejobs.batch.paddlepaddle.org"
WITHIN_S = 120


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """A cluster whose nodes have the image of the operator, without the operator and the definition."""
    try:
        cluster = empty_cluster()
    except ClusterUnavailable as missing:
        pytest.skip(str(missing))
    image = tmp_path_factory.mktemp("image") / "operator.tar"
    pack_operator_image(image)
    cluster.load_image(image)
    image.unlink()
    client = Kube(cluster)
    client.kubectl("delete", "--ignore-not-found", "--timeout=120s", *FILES)
    yield client
    client.close()


def test_kubectl_installs_the_operator_removes_it_under_live_jobs_and_installs_it_again(
    cluster: Kube, tmp_path: Path
) -> None:
    jobs = KubeNamespace(cluster, "paddle-system")
    install(cluster)
    run_all_examples(jobs, tmp_path)
    begin_endless_job(jobs)
    cluster.kubectl("delete", "--timeout=120s", *FILES)
    assert existing(cluster) == []
    install(cluster)
    run_example(jobs)
    cluster.kubectl("delete", "--timeout=120s", *FILES)
    assert existing(cluster) == []


def test_helm_installs_and_removes_the_operator_for_jobs_of_another_namespace(cluster: Kube) -> None:
    helm(cluster, "lint", "--strict", CHART)
    settings = ("--set", "controllernamespace=operators", "--set", "jobnamespace=trainings")
    helm(cluster, "install", "paddle", CHART, "--wait", f"--timeout={WITHIN_S}s", *settings)
    jobs = KubeNamespace(cluster, "trainings")
    run_example(jobs)
    await_garbage_collection(jobs)
    begin_endless_job(jobs)
    helm(cluster, "upgrade", "paddle", CHART, "--wait", f"--timeout={WITHIN_S}s", *settings, "--set", "crd.keep=true")
    helm(cluster, "uninstall", "paddle", "--wait", f"--timeout={WITHIN_S}s")
    assert existing(cluster) == [DEFINITION]
    assert phase(jobs.get("PaddleJob", "endless")) == "Running"  # kept with the definition, as its pods are
    helm(cluster, "install", "paddle", CHART, "--wait", f"--timeout={WITHIN_S}s", *settings, "--take-ownership")
    helm(cluster, "uninstall", "paddle", "--wait", f"--timeout={WITHIN_S}s")
    assert existing(cluster) == []
    jobs.await_all("Pod", lambda found: not found, timeout_s=WITHIN_S)


def test_the_chart_makes_what_the_file_for_kubectl_has(cluster: Kube) -> None:
    made: dict[tuple[str, str], Any] = {}
    for scheduling in ("", "volcano"):  # the rights for the guard or for PodGroups
        settings = ("--set", "jobnamespace=", "--set", f"scheduling={scheduling}")
        whole = yaml.safe_load_all(helm(cluster, "template", "paddle", CHART, *settings))
        made = {(one["kind"], one["metadata"]["name"]): one for one in whole if one} | made
    text = (DEPLOY / "v1" / "operator.yaml").read_text(encoding="utf-8")
    for wanted in yaml.safe_load_all(text.replace("            - --namespace=paddle-system\n", "")):
        if wanted["kind"] != "Namespace":  # that of the chart is kept when the chart is removed
            assert made[wanted["kind"], wanted["metadata"]["name"]] == wanted
    assert made["CustomResourceDefinition", DEFINITION]


def helm(cluster: Kube, *arguments: str) -> str:
    done = subprocess.run(
        ["helm", *arguments], env=cluster.cluster.env, capture_output=True, text=True, check=False, timeout=WITHIN_S * 2
    )
    assert done.returncode == 0, f"helm {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(cluster: Kube) -> None:
    cluster.kubectl("create", *FILES)
    await_definition(cluster)
    place = ("--namespace=paddle-system", f"--timeout={WITHIN_S}s")
    cluster.kubectl("rollout", "status", "deployment/paddle-controller-manager", *place)


def run_all_examples(jobs: KubeNamespace, folder: Path) -> None:
    """Every job of the documentation, at once; two are called wide-ande-deep, so one of them comes later."""
    cluster = jobs.kube.cluster
    for node in ("n1", "n2"):
        gpus = {"nvidia.com/gpu": "4"}
        status = json.dumps({"status": {"capacity": gpus, "allocatable": gpus}})
        cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", f"--patch={status}")
        cluster.kubectl("label", "--overwrite", "node", node, "accelerator=nvidia-tesla-p100")
    offer_data(jobs, folder)
    names = [
        jobs.create(example(DEPLOY / "examples" / name))["metadata"]["name"]
        for name in ("resnet.yaml", "wide_and_deep.yaml", "wide_and_deep_podip.yaml", "wide_and_deep_service.yaml")
    ]
    names.append(jobs.create(example(DATA / "storage.yaml"))["metadata"]["name"])
    for name in names:
        jobs.await_object("PaddleJob", name, lambda one: phase(one) == "Completed", WITHIN_S)
    title, line = jobs.kubectl("get", "pdj", "wide-ande-deep-service").splitlines()
    assert title.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    name, status, mode, ps, worker = line.split()[:5]
    assert (name, status, mode, worker) == ("wide-ande-deep-service", "Completed", "PS", "0/2")
    assert ps in ("1/2", "2/2")  # the columns show the end, and workers may end before the second ps was seen running
    jobs.kubectl("delete", "pdj", "wide-ande-deep", "--timeout=120s")
    jobs.await_all("Pod", lambda pods: not any(named_wide(one) for one in pods), timeout_s=WITHIN_S)
    jobs.create(example(DATA / "gpu_and_nodes.yaml"))
    jobs.await_object("PaddleJob", "wide-ande-deep", lambda one: phase(one) == "Completed", WITHIN_S)


def named_wide(pod: dict[str, Any]) -> bool:
    return str(pod["metadata"]["name"]).startswith(("wide-ande-deep-ps", "wide-ande-deep-worker"))


def example(file: Path) -> dict[str, Any]:
    """A job of the documentation with the image of the test cluster, and a program that this image has."""
    (job,) = (one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one["kind"] == "PaddleJob")
    for role, command in (("ps", WAITS), ("worker", SUCCEEDS)):
        if role not in job["spec"]:
            continue
        pod = job["spec"][role]["template"]["spec"]
        (container,) = pod["containers"]
        container["image"] = "local/python:1"
        pod["terminationGracePeriodSeconds"] = 1
        if container.get("command") == ["bash", "-c"]:
            container["command"] = ["/bin/sh", "-c"]
        else:
            container |= {"command": list(command), "args": []}
    return dict(job)


def offer_data(jobs: KubeNamespace, folder: Path) -> None:
    """The claim of the storage example, with a folder of this machine for the NFS server, and a program in it."""
    program = folder / "wide_and_deep" / "train.py"
    program.parent.mkdir()
    program.write_text("import os, time\nif os.environ['TRAINING_ROLE'] == 'PSERVER':\n    time.sleep(100000)\n")
    folder.chmod(0o755)
    volume, claim = yaml.safe_load_all((DATA / "pv-pvc.yaml").read_text(encoding="utf-8"))
    for key in ("nfs", "mountOptions", "persistentVolumeReclaimPolicy"):
        del volume["spec"][key]
    volume["spec"]["hostPath"] = {"path": str(folder)}
    jobs.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([volume, claim]))


def run_example(jobs: KubeNamespace) -> None:
    jobs.create(example(DEPLOY / "examples" / "wide_and_deep.yaml"))
    jobs.await_object("PaddleJob", "wide-ande-deep", lambda one: phase(one) == "Completed", WITHIN_S)


def await_garbage_collection(jobs: KubeNamespace) -> None:
    """Kubernetes looks for new definitions every half a minute. If one goes before it was found, what its objects own
    stays behind."""
    jobs.kubectl("delete", "pdj", "wide-ande-deep", "--timeout=120s")
    jobs.await_all("Pod", lambda found: not found, timeout_s=WITHIN_S)


def begin_endless_job(jobs: KubeNamespace) -> None:
    jobs.create(paddle_job("endless", worker=paddle_role(2, WAITS)))
    jobs.await_object("PaddleJob", "endless", lambda one: phase(one) == "Running", WITHIN_S)


def existing(cluster: Kube) -> list[str]:
    """What is left of an installation."""
    found = cluster.kubectl("get", "crd,deployments,clusterroles,clusterrolebindings", "--all-namespaces", "-o", "name")
    return [name.rpartition("/")[2] for name in found.split() if "paddle" in name]


def phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("phase"))
