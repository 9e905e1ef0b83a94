"""The PaddleJob resource on a real API server: what it accepts, what it refuses in which words, what it explains."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.kube import Kube, KubeNamespace, Refused
from tests.parts.paddle_jobs import install_definition
from tests.parts.pod_fields import every_field

pytestmark = pytest.mark.kube
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "deploy" / "examples"
DATA = ROOT / "tests" / "data" / "paddlejobs"
STRICT = "fieldValidation=Strict&dryRun=All"


@pytest.fixture(scope="module", autouse=True)
def definition(kube: Kube) -> None:
    """It may be installed already: `kubectl apply` changes nothing then."""
    install_definition(kube)


def job(**spec: Any) -> dict[str, Any]:
    whole = {"worker": role(), **spec}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "job"},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }


def role(replicas: int = 2, **more: Any) -> dict[str, Any]:
    return {"replicas": replicas, "template": {"spec": {"containers": [{"name": "paddle", "image": "x"}]}}, **more}


def named(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "metadata": {"name": name}}


def template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "paddle", "image": "x"}], **spec}}


def tried(kube: Kube, entry: dict[str, Any]) -> dict[str, Any]:
    """The job as the API server would store it; it checks fields as strictly as for kubectl. Raises Refused."""
    return kube.request("POST", f"/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs?{STRICT}", entry)


ACCEPTED = {
    "one worker": job(worker=role(1)),
    "all fields": job(
        ps=role(),
        heter=role(1),
        cleanPodPolicy="",
        intranet="",
        cleanPolicy="Always",
        withGloo=2,
        elastic=1,
        worker=role(2, requests=1, limits=4),
        schedulingPolicy={
            "minAvailable": 5,
            "queue": "q",
            "priorityClass": "p",
            "minResources": {"cpu": 1, "memory": "1Gi"},
        },
        sampleSetRef={"name": "data", "namespace": "default", "mountPath": "/data"},
        suspend=True,
        activeDeadlineSeconds=60,
        ttlSecondsAfterFinished=0,
        backoffLimit=3,
        restartBackoffSeconds=0,
    ),
    "bounds that nobody reads without elastic": job(worker=role(2, requests=5, limits=1)),
    "Gloo without ps, which has no effect": job(withGloo=1),
    "the longest name": named("n" * 54, job(worker=role(10))),
    "a name that begins with a digit": named("7b", job()),
}


@pytest.mark.parametrize("entry", ACCEPTED.values(), ids=ACCEPTED)
def test_a_valid_job_is_accepted_as_it_is(kube: Kube, entry: dict[str, Any]) -> None:
    stored = tried(kube, entry)
    defaults = {"cleanPodPolicy": "OnCompletion", "intranet": "PodIP", "withGloo": 0}
    assert stored["spec"] == {**defaults, **entry["spec"]}


REFUSED = {
    "ps alone": (job(worker=None, ps=role()), "a job with ps also needs worker"),
    "no role": (job(worker=None), "a job needs worker"),
    "heter without ps": (job(heter=role()), "a job with heter also needs ps"),
    "no worker pods": (job(worker=role(0)), "worker.replicas must be at least 1; `suspend: true` pauses a job"),
    "too many pods": (job(worker=role(10_001)), "should be less than or equal to 10000"),
    "no replicas": (job(worker={"template": template()}), "spec.worker.replicas: Required value"),
    "no template": (job(worker={"replicas": 1}), "spec.worker.template: Required value"),
    "no containers": (job(worker=role(template={"spec": {}})), "spec.worker.template.spec.containers: Required value"),
    "an empty list of containers": (job(worker=role(template={"spec": {"containers": []}})), "at least 1 item"),
    "a container without a name": (job(worker=role(template=template(containers=[{"image": "x"}]))), "Required value"),
    "a container twice": (
        job(worker=role(template=template(containers=[{"name": "a"}, {"name": "a"}]))),
        "Duplicate value",
    ),
    "a number as a variable": (
        job(worker=role(template=template(containers=[{"name": "a", "env": [{"name": "A", "value": 1}]}]))),
        "must be of type string",
    ),
    "minAvailable above all pods": (
        job(ps=role(), schedulingPolicy={"minAvailable": 5}),
        "schedulingPolicy.minAvailable must not be greater than the number of all pods",
    ),
    "elastic bounds the wrong way round": (
        job(elastic=1, worker=role(2, requests=3, limits=2)),
        "worker.requests, the fewest pods of an elastic job, must not be greater than worker.limits, the most",
    ),
    "elastic replicas outside the bounds": (
        job(elastic=1, worker=role(5, requests=1, limits=4)),
        "worker.replicas of an elastic job must lie between worker.requests and worker.limits",
    ),
    "an unknown clean policy": (job(cleanPodPolicy="OnFailed"), "supported values"),
    "an unknown intranet": (job(intranet="pod"), "supported values"),
    "Gloo on level 3": (job(withGloo=3), "supported values"),
    "Gloo as a word": (job(withGloo="on"), "must be of type integer"),
    "a negative limit of restarts": (job(backoffLimit=-1), "greater than or equal to 0"),
    "a sample set without a path": (job(sampleSetRef={"name": "a"}), "spec.sampleSetRef.mountPath: Required value"),
    "an unknown field": (job(cleanPodPolcy="Never"), 'unknown field \\"spec.cleanPodPolcy\\"'),
    "an unknown field of a role": (job(worker=role(replica=1)), 'unknown field \\"spec.worker.replica\\"'),
    "an unknown field beside the pod": (
        job(worker=role(template={**template(), "specs": {}})),
        'unknown field \\"spec.worker.template.specs\\"',
    ),
    "a name with a dot": (named("a.b", job()), "metadata.name must not contain dots"),
    "a name too long for pods": (
        named("n" * 54, job(worker=role(11))),
        "metadata.name is too long: followed by -worker- and a number it names pods",
    ),
    "a name too long for pods that elastic may add": (
        named("n" * 54, job(elastic=1, worker=role(1, limits=11))),
        "metadata.name is too long",
    ),
    "a name that no Service may have": (
        named("7b", job(intranet="Service")),
        "metadata.name must begin with a letter if intranet is Service",
    ),
}


@pytest.mark.parametrize(("entry", "words"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_job_is_refused_with_the_reason(kube: Kube, entry: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refused:
        tried(kube, entry)
    assert words in str(refused.value)


def test_a_job_keeps_its_intranet_and_may_change_its_replicas(namespace: KubeNamespace) -> None:
    namespace.create(named("scaled", job(suspend=True)))
    with pytest.raises(Refused, match="intranet of a job cannot be changed"):
        namespace.patch("PaddleJob", "scaled", {"spec": {"intranet": "Service"}})
    namespace.kubectl("scale", "pdj/scaled", "--replicas=3")
    assert namespace.get("PaddleJob", "scaled")["spec"]["worker"]["replicas"] == 3


def test_every_field_of_a_pod_template_is_kept(kube: Kube) -> None:
    schemas = kube.request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    whole = every_field(schemas, "io.k8s.api.core.v1.PodTemplateSpec")
    assert {"containers", "tolerations", "volumes", "resourceClaims", "affinity"} <= set(whole["spec"])
    stored = tried(kube, job(worker={"replicas": 1, "template": copy.deepcopy(whole)}))
    assert stored["spec"]["worker"]["template"] == whole


@pytest.mark.parametrize(
    "file",
    [*sorted(EXAMPLES.iterdir()), DATA / "gpu_and_nodes.yaml", DATA / "storage.yaml"],
    ids=lambda file: file.name,
)
def test_kubectl_creates_the_jobs_of_the_documentation_unchanged(namespace: KubeNamespace, file: Path) -> None:
    jobs = [one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one["kind"] == "PaddleJob"]
    (only,) = jobs
    said = namespace.kubectl("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(only))
    assert said == f"paddlejob.batch.paddlepaddle.org/{only['metadata']['name']} created (server dry run)\n"


def test_kubectl_explains_every_field_of_a_job(kube: Kube) -> None:
    crd = yaml.safe_load((ROOT / "deploy" / "v1" / "crd.yaml").read_text(encoding="utf-8"))
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    explained = kube.kubectl("explain", "pdj.spec")
    assert [name for name in fields if f"\n  {name}\t" not in explained] == []
    assert "the trainers" in explained.lower()
    assert "nvidia.com/gpu" in kube.kubectl("explain", "pdj.spec.worker.template.spec.containers")


def test_kubectl_lists_jobs_in_the_columns_of_the_first_releases(namespace: KubeNamespace) -> None:
    namespace.create(named("listed", job(ps=role(), suspend=True)))
    counts = {"ps": {"ready": "2/2"}, "worker": {"ready": "0/2"}}
    namespace.patch("PaddleJob", "listed", {"status": {"phase": "Completed", "mode": "PS", **counts}}, "status")
    title, line = namespace.kubectl("get", "pdj").splitlines()
    assert title.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    assert line.split()[:5] == ["listed", "Completed", "PS", "2/2", "0/2"]
