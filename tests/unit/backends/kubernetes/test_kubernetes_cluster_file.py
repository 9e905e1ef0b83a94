"""Cluster files of Kubernetes, and what of a job such a cluster cannot do."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.backends.kubernetes.cluster_file import KUBERNETES_CLUSTERS
from muster.backends.kubernetes.options import JobObjects, KubernetesOptions
from muster.backends.kubernetes.spec_support import cannot_honour
from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.errors import Invalid
from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Mount, Role, Runtime
from muster.settings.cluster_kinds import ClusterKinds
from muster.wire.documents import read_document

pytestmark = pytest.mark.fast
KUBECONFIG = "contexts: [{name: prod}, {name: test}]\n"


def read(text: str) -> PhysicalCluster:
    return ClusterKinds((KUBERNETES_CLUSTERS,)).described(read_document(text), "k8s").cluster


def problems(text: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read(text)
    return [str(problem) for problem in refused.value.problems]


def test_the_shortest_file_uses_the_account_of_the_pod() -> None:
    cluster = read("backend: kubernetes\n")
    assert cluster.options == KubernetesOptions()


def test_a_file_says_where_tasks_run_and_where_files_are(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    cluster = read(f"""backend: kubernetes
kubeconfig: {kubeconfig}
context: prod
namespace: ml-{{user}}
image: paddle:2.6
nodeSelector: {{pool: ml}}
tolerations: [{{key: gpu, operator: Exists}}]
folders:
  data: {{claim: criteo, readOnly: true}}
  home: {{nfs: {{server: files, path: /export/home}}}}
  conf: {{configMap: settings}}
  scratch: /scratch
gpuModels: {{Tesla-T4-SHARED: T4}}
jobs: pods
lostAfter: 2m
""")
    options = cluster.options
    assert isinstance(options, KubernetesOptions)
    assert (options.kubeconfig, options.context, options.namespace) == (kubeconfig, "prod", "ml-{user}")
    assert options.is_per_user
    assert (options.jobs, cluster.lost_after_s) == (JobObjects.PODS, 120.0)
    assert options.volumes == {
        "data": {"persistentVolumeClaim": {"claimName": "criteo"}},
        "home": {"nfs": {"server": "files", "path": "/export/home"}},
        "conf": {"configMap": {"name": "settings"}},
        "scratch": {"hostPath": {"path": "/scratch"}},
    }
    assert {folder.name: (folder.path, folder.read_only) for folder in cluster.folders} == {
        "data": ("/folders/data", True),
        "home": ("/folders/home", False),
        "conf": ("/folders/conf", False),
        "scratch": ("/scratch", False),
    }


def test_mistakes_have_their_lines(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    assert problems(f"backend: kubernetes\nkubeconfig: {kubeconfig}\ncontext: prd\n") == [
        "line 3: context: the kubeconfig has no context 'prd' (did you mean prod?)"
    ]
    assert problems("backend: kubernetes\nkubeconfig: /no/such/file\n") == [
        "line 2: kubeconfig: /no/such/file cannot be read: No such file or directory (it is on the server)"
    ]
    assert problems("backend: kubernetes\nfolders:\n  data: {readOnly: true}\n") == [
        "line 3: folders.data: says nothing about where its files are (give one of claim, hostPath, nfs, configMap)"
    ]
    assert "did you mean namespace?" in problems("backend: kubernetes\nnamspace: x\n")[0]
    assert "line 2" in problems("backend: kubernetes\nnamespace: Not_A_Name\n")[0]


@pytest.mark.parametrize("namespace", ["muster-{user}", "{user}-ml"])
def test_a_namespace_for_each_user_has_more_than_the_name_of_the_user(namespace: str) -> None:
    options = read(f'backend: kubernetes\nnamespace: "{namespace}"\n').options
    assert isinstance(options, KubernetesOptions)
    assert options.is_per_user
    assert "such as muster-{user}" in problems('backend: kubernetes\nnamespace: "{user}"\n')[0]


def test_mappings_of_free_keys_are_not_mistaken_for_the_whole_file() -> None:
    (labels,) = problems("backend: kubernetes\nnodeSelector: [x]\n")
    assert "a mapping of labels" in labels
    (context,) = problems("backend: kubernetes\nsecurityContext: [x]\n")
    assert "a mapping" in context
    assert "backend" not in labels + context


@pytest.mark.parametrize("key", ["image", "initImage"])
def test_images_of_a_file_have_the_name_of_an_image(key: str) -> None:
    (problem,) = problems(f"backend: kubernetes\n{key}: 'a b'\n")
    assert problem.startswith(f"line 2: {key}: ")
    assert "the name of an image" in problem


def test_what_kubernetes_cannot_do_is_said_with_its_path() -> None:
    options = KubernetesOptions(image="paddle:2.6")
    cluster = PhysicalCluster("k8s", "kubernetes", options=options)
    plain = JobSpec("job", (Role("worker", 1, ("true",)),))
    shared = replace(plain, roles=(Role("worker", 1, ("true",), Resources(gpus=1, gpu_share=500)),))

    def paths(spec: JobSpec, given: KubernetesOptions = options) -> list[str]:
        return [problem.path for problem in cannot_honour(spec, cluster, given)]

    assert paths(plain) == []
    assert paths(plain, KubernetesOptions()) == ["runtime.image"]
    assert paths(replace(plain, runtime=Runtime(image="not an image"))) == ["runtime.image"]
    assert paths(replace(plain, mounts=(Mount("/etc", "etc"), Mount("../x", "y")))) == [
        "mounts[0].source",
        "mounts[1].source",
    ]
    assert paths(replace(plain, runtime=Runtime(venv="envs/py310"))) == ["runtime.venv"]
    assert paths(replace(plain, outputs=("model/*",))) == []
    assert paths(shared) == ["roles.worker.resources.gpu"]


TAKEN = (
    *("/", "/proc", "/sys/fs", "/dev", "/dev/shm", "/muster", "/muster/work", "/muster//work/"),
    *("/muster/task", "/muster/task/x", "/muster/secrets", "/muster/prepare", "/muster/archives"),
)
FREE = ("/data", "data", "/muster/work/data", "/mustered", "/dev/hugepages")


@pytest.mark.parametrize("target", [*TAKEN, *FREE])
def test_targets_of_mounts_are_not_the_folders_that_a_pod_has_anyway(target: str) -> None:
    cluster = PhysicalCluster("k8s", "kubernetes", folders=(Folder("data", "/mnt/data"),))
    options = KubernetesOptions(image="paddle:2.6.1", volumes={"data": {"emptyDir": {}}})
    spec = JobSpec("demo", (Role("worker", 1, ("true",)),), mounts=(Mount("data", target),))
    found = list(cannot_honour(spec, cluster, options))
    assert [problem.path for problem in found] == (["mounts[0].target"] if target in TAKEN else [])
