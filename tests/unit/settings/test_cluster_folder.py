"""Virtual clusters and nodes in `clusters.d`: what may be written, and every mistake with its file, line and remedy."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.domain.resources import Resources
from muster.domain.specs import Mount, Priority, Runtime
from muster.domain.virtual_clusters import Limits, OrderPolicy, Share, VirtualCluster
from muster.ports.cluster_config import ClusterSettings
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast

GIB = 1 << 30
EVERYTHING = """
name: vision
cluster: lab
description: The vision group.
guaranteed: {gpu: {V100: 8, A100: 4}, cpu: 64, memory: 256Gi}
max: {gpu: {V100: 16, A100: 4}}
borrow: false
policy: fair
priorities: [high, low]
users: [li]
groups: [vision, guests]
mayRefusePreemption: true
limits: {runningGpus: 12, runningJobs: 20, gpuHoursPerWeek: 500.5, queuedJobs: 100}
userLimits: {runningGpus: 4}
defaults:
  env: {NCCL_DEBUG: WARN, RETRIES: 3}
  runtime: {conda: py310}
  mounts: [{source: data/imagenet, target: /data, readOnly: true}]
  resources: {cpu: 2, memory: 4Gi}
"""


def read_all(tmp_path: Path, **files: str) -> ClusterSettings:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return cluster_folder(tmp_path, "lab", "annex").read()


def read(tmp_path: Path, **files: str) -> tuple[VirtualCluster, ...]:
    return read_all(tmp_path, **files).virtual


def problems(tmp_path: Path, **files: str) -> list[Problem]:
    with pytest.raises(Invalid) as refused:
        read(tmp_path, **files)
    return list(refused.value.problems)


def test_every_field_is_read(tmp_path: Path) -> None:
    (vision,) = read(tmp_path, vision=EVERYTHING)
    assert vision.guaranteed == Share({"V100": 8, "A100": 4}, 64_000, 256 * GIB)
    assert vision.max == Share({"V100": 16, "A100": 4})
    assert (vision.cluster, vision.borrows, vision.policy) == ("lab", False, OrderPolicy.FAIR)
    assert vision.priorities == (Priority.LOW, Priority.HIGH)
    assert (vision.users, vision.groups) == (("li",), ("vision", "guests"))
    assert vision.may_refuse_preemption
    assert vision.limits == Limits(12, 20, 500.5, 100)
    assert vision.user_limits == Limits(running_gpus=4)
    assert vision.defaults.env == {"NCCL_DEBUG": "WARN", "RETRIES": "3"}
    assert vision.defaults.runtime == Runtime(conda="py310")
    assert vision.defaults.mounts == (Mount("data/imagenet", "/data", read_only=True),)
    assert vision.defaults.resources == Resources(2000, 4 * GIB)
    assert vision.description == "The vision group."


def test_a_name_alone_shares_what_is_idle_on_the_default_cluster(tmp_path: Path) -> None:
    assert read(tmp_path, a="name: guests") == (VirtualCluster("guests", "lab"),)


def test_gpus_may_be_counted_without_their_model(tmp_path: Path) -> None:
    (a,) = read(tmp_path, a="{name: a, guaranteed: {gpu: 8}}")
    assert a.guaranteed.gpus == {"": 8}


def test_files_and_their_documents_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / ".b.yaml.swp").write_text("[")
    (tmp_path / ".#b.yaml").write_text("[")
    for name in ("notes.txt", "b.yaml~", "4913", "#b.yaml#", "b.yaml.bak"):
        (tmp_path / name).write_text("[")
    (tmp_path / "c.yml").write_text("name: four")
    found = read(tmp_path, b="name: two\n---\n---\nname: three\n", a="name: one\n", empty="# nothing yet\n")
    assert [cluster.name for cluster in found] == ["one", "two", "three", "four"]


def test_every_mistake_of_every_file_is_told_with_its_line_and_the_nearest_key(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        a="name: one\ngaranteed: {gpu: 8}\npolicy: fastest\n",
        b="name: two\n---\nname: three\nmax:\n  gpus: 3\n  cpu: many\n",
        c="name: [",
        d="- name: four\n",
    )
    assert [str(problem) for problem in told] == [
        "a.yaml, line 3: policy: is 'fastest' (one of 'default', 'fifo', 'fair', 'las' or 'shortest')",
        "a.yaml, line 2: garanteed: unknown key (did you mean guaranteed?)",
        "b.yaml, line 6: max.cpu: 'many' cannot be read (expected a number of cores such as 2, 0.5 or 500m)",
        "b.yaml, line 5: max.gpus: unknown key (did you mean gpu?)",
        "c.yaml, line 2: is no YAML: did not find expected node content (look at brackets, quotes, colons and indents"
        " up to there)",
        "d.yaml, line 1: is no mapping (a virtual cluster has at least a `name`)",
    ]


def test_a_wrong_part_is_told_with_the_keys_that_it_has(tmp_path: Path) -> None:
    (limits,) = problems(tmp_path, a="{name: a, limits: 3}")
    assert limits.hint == "a mapping with runningGpus, runningJobs, gpuHoursPerWeek, queuedJobs"


def test_defaults_are_checked_as_in_a_job(tmp_path: Path) -> None:
    (both,) = problems(tmp_path, a="name: a\ndefaults:\n  runtime: {conda: x, image: y}\n")
    assert (both.path, both.line) == ("defaults.runtime.image", 3)
    (unknown,) = problems(tmp_path, a="name: a\ndefaults:\n  resources: {gpuTyp: V100}\n")
    assert (unknown.path, unknown.hint) == ("defaults.resources.gpuTyp", "did you mean gpuType?")


@pytest.mark.parametrize(
    "amounts",
    [
        "guaranteed: {gpu: 8}, max: {gpu: 4}",
        "guaranteed: {gpu: {V100: 8}}, max: {gpu: 4}",
        "guaranteed: {gpu: {V100: 8}}, max: {gpu: {V100: 4, A100: 8}}",
        "guaranteed: {gpu: 8}, max: {gpu: {V100: 4}}",
    ],
)
def test_no_more_is_promised_than_may_be_used(tmp_path: Path, amounts: str) -> None:
    (problem,) = problems(tmp_path, a="{name: a, " + amounts + "}")
    assert (problem.path, problem.message) == ("max.gpu", "is less than what is guaranteed")


def test_max_limits_only_what_it_names(tmp_path: Path) -> None:
    (a,) = read(tmp_path, a="{name: a, guaranteed: {gpu: 8, cpu: 4}, max: {cpu: 4}}")
    assert a.max == Share({}, 4000)
    (less,) = problems(tmp_path, a="{name: a, guaranteed: {gpu: 8, cpu: 4}, max: {cpu: 3}}")
    assert less.path == "max.cpu"


def test_who_may_not_borrow_needs_a_guarantee(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, a="name: a\nborrow: false\n")
    assert (problem.path, problem.line) == ("borrow", 2)


def test_names_are_unique_and_physical_clusters_are_known(tmp_path: Path) -> None:
    told = problems(tmp_path, a="name: one\n---\nname: lab\n", b="name: one\ncluster: lap\n")
    assert [str(problem) for problem in told] == [
        "a.yaml, line 3: name: lab is the name of a physical cluster (choose another name)",
        "b.yaml, line 2: cluster: there is no cluster 'lap' (known clusters: lab, annex)",
        "b.yaml, line 1: name: one is given twice (also in a.yaml, line 1)",
    ]


def test_a_document_with_nodes_gives_them_labels(tmp_path: Path) -> None:
    found = read_all(
        tmp_path,
        a="nodes:\n- name: gpu1\n  labels: {rack: a, slots: 3}\n- {name: gpu2}\n---\nname: vision\n",
        b="{cluster: annex, nodes: [{name: gpu1, labels: {rack: b}}]}",
    )
    assert found.nodes == (
        NodeSettings("gpu1", "lab", {"rack": "a", "slots": "3"}, 2, "a.yaml"),
        NodeSettings("gpu2", "lab", {}, 4, "a.yaml"),
        NodeSettings("gpu1", "annex", {"rack": "b"}, 1, "b.yaml"),
    )
    assert [vc.name for vc in found.virtual] == ["vision"]


def test_every_mistake_about_nodes_is_told(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        a="nodes:\n- name: gpu1\n  label: {rack: a}\n- labels: {rack: a}\n- gpu3\nname: vision\n",
        b="nodes: [{name: gpu1}]\n---\nnodes:\n- {name: gpu1}\n---\ncluster: lap\nnodes: [{name: gpu1}]\n",
        c="nodes: {gpu1: {rack: a}}\n",
    )
    assert [str(problem) for problem in told] == [
        "a.yaml, line 3: nodes[0].label: unknown key (did you mean labels?)",
        "a.yaml, line 4: nodes[1].name: is required",
        "a.yaml, line 5: nodes[2]: is 'gpu3' (a mapping with name, labels, reserved, maxTasks)",
        "a.yaml, line 6: name: unknown key (known keys: cluster, nodes)",
        "b.yaml, line 6: cluster: there is no cluster 'lap' (known clusters: lab, annex)",
        "b.yaml, line 4: nodes: gpu1 is given twice (also in b.yaml, line 1)",
        "c.yaml, line 1: nodes: is {'gpu1': {'rack': 'a'}} (expected a list)",
    ]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"name: \xff")
    (tmp_path / "b.yaml").mkdir()
    told = problems(tmp_path)
    assert [problem.file for problem in told] == ["a.yaml", "b.yaml"]
    with pytest.raises(Invalid) as refused:
        cluster_folder(tmp_path / "absent", "lab").read()
    assert refused.value.problems[0].file.endswith("absent")


def test_a_file_that_was_emptied_is_a_mistake_and_a_mark_of_its_order_is_none(tmp_path: Path) -> None:
    assert [str(problem) for problem in problems(tmp_path, a=" \n")] == [
        "a.yaml: is empty (write it again, or remove it)"
    ]
    assert read(tmp_path, a="\ufeffname: one\r\n")[0].name == "one"


def test_a_physical_cluster_without_its_backend_is_not_taken_for_a_virtual_one(tmp_path: Path) -> None:
    (missing,) = problems(tmp_path, local="enabled: false\n")
    assert str(missing) == "local.yaml, line 1: backend: is missing (add `backend: local`)"
    (access,) = problems(tmp_path, local="access: {users: [li]}\n")
    assert (access.path, access.message) == ("backend", "is missing")


def test_a_cluster_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    """Its name is that of the folder, and the files that it names are beside it."""
    own = tmp_path / "pool"
    own.mkdir()
    (own / "cluster.yaml").write_text("backend: ssh\nnodesFile: nodes.json\n")
    (tmp_path / "drafts").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "cluster.yaml").write_text("backend: ssh\n")
    folder = cluster_folder(tmp_path)
    with pytest.raises(Invalid) as refused:
        folder.read()
    assert [(problem.file, problem.line) for problem in refused.value.problems] == [("pool/cluster.yaml", 2)]
    assert {own / "cluster.yaml", own / "nodes.json", tmp_path / "drafts" / "cluster.yaml"} <= folder.files_beside()
    (own / "nodes.json").write_text(
        '[{"name": "n", "ip": "10.0.0.1", "user_name": "li", "gpu_count": 1, "gpu_info": ["A100"]}]'
    )
    (pool,) = folder.read().physical
    assert (pool.name, pool.file, [node.file for node in pool.nodes]) == (
        "pool",
        "pool/cluster.yaml",
        ["pool/nodes.json"],
    )


def test_a_virtual_cluster_may_be_named_by_its_folder_too(tmp_path: Path) -> None:
    texts = {"v1": "cluster: lab\n", "v2": "limits: {runningJobs: 1}\n", "v3": "name: other\ncluster: lab\n"}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cluster.yaml").write_text(text)
    found = cluster_folder(tmp_path, "lab", "annex").read().virtual
    assert [(vc.name, vc.cluster) for vc in found] == [("v1", "lab"), ("v2", "lab"), ("other", "lab")]
    (missing,) = problems(tmp_path, v4="cluster: lab\n")
    assert str(missing) == "v4.yaml, line 1: name: is required", "a file of the folder itself may have several"
