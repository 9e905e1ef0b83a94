"""Cluster files know backends by the kinds that are handed in: what each adds, and what is told of others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import Field

from muster.backends.logins.options import HostKeys
from muster.bootstrap.backend_kinds import BUILT_IN
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid
from muster.settings.cluster_kinds import ClusterKind, ClusterKinds
from muster.settings.cluster_writing import add_node, node_entry
from muster.settings.clusters import ClusterFolder
from muster.wire import node_entries
from muster.wire.physical_schema import SharedIn

pytestmark = pytest.mark.fast


@dataclass(frozen=True)
class Queue:
    queue: str


class TorqueIn(SharedIn):
    queue: str = Field(min_length=1)


def complete(cluster: PhysicalCluster, model: TorqueIn) -> PhysicalCluster:
    return replace(cluster, options=Queue(model.queue))


TORQUE = ClusterKind("torque", TorqueIn, complete=complete)
KINDS = ClusterKinds((*(kind.clusters for kind in BUILT_IN), TORQUE))


def folder(path: Path, text: str) -> ClusterFolder:
    (path / "a.yaml").write_text(text)
    return ClusterFolder(path, ("local",), KINDS)


def problems(path: Path, text: str) -> Sequence[str]:
    with pytest.raises(Invalid) as refused:
        folder(path, text).read()
    return [str(problem) for problem in refused.value.problems]


def test_a_kind_adds_keys_and_options_of_its_own(tmp_path: Path) -> None:
    (found,) = folder(tmp_path, "backend: torque\nqueue: gpu\nfolders: {data: /data}\n").read().physical
    assert (found.name, found.backend, found.options, found.nodes) == ("a", "torque", Queue("gpu"), ())
    assert [known.path for known in found.folders] == ["/data"]


def test_an_unknown_backend_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert problems(tmp_path, "name: lab\nbackend: torqe\n---\ncluster: lab\nnodes: [{name: a, anything: 1}]\n") == [
        "a.yaml, line 2: backend: there is no backend 'torqe' (did you mean torque?)"
    ]
    assert problems(tmp_path, "backend: [k8s]\n") == [
        "a.yaml, line 1: backend: there is no backend ['k8s'] "
        "(known backends: kubernetes, local, muster, slurm, ssh, torque)"
    ]


def test_a_key_of_another_kind_says_whose_it_is(tmp_path: Path) -> None:
    assert problems(tmp_path, "backend: ssh\nqueue: gpu\n") == [
        "a.yaml, line 2: queue: is for clusters with backend: torque (this one is ssh)"
    ]


def test_a_cluster_that_lists_no_nodes_may_have_labels_for_them(tmp_path: Path) -> None:
    text = "name: lab\nbackend: torque\nqueue: gpu\n---\ncluster: lab\nnodes: [{name: n1, labels: {rack: a}}]\n"
    assert [(node.cluster, node.name) for node in folder(tmp_path, text).read().nodes] == [("lab", "n1")]


def test_nodes_are_added_by_command_only_where_files_list_them(tmp_path: Path) -> None:
    clusters = folder(tmp_path, "name: lab\nbackend: torque\nqueue: gpu\n")
    (known,) = clusters.read().physical
    with pytest.raises(Invalid) as refused:
        node_entry(KINDS, known, {"name": "gpu7", "ssh": "10.0.0.7"})
    assert [str(problem) for problem in refused.value.problems] == [
        "cluster: lab has the backend torque (nodes are not added to it by command)"
    ]
    entry = node_entry(KINDS, None, {"name": "gpu7", "ssh": "li@10.0.0.7:24", "labels": {"rack": "a"}})
    assert entry == {"name": "gpu7", "host": "10.0.0.7", "user": "li", "port": 24, "labels": {"rack": "a"}}
    added = next(found for found in add_node(clusters, "pool", entry).physical if found.name == "pool")
    assert (added.backend, [node.shown_login for node in added.nodes]) == ("ssh", ["li@10.0.0.7:24"])


def test_the_api_names_host_keys_as_files_do() -> None:
    assert {str(known) for known in node_entries.HostKeys} == {str(known) for known in HostKeys}
