"""What is said at a deployment about the clusters that people will find."""

from pathlib import Path

import pytest

from muster.bootstrap.receivers_clusters import cluster_notes
from muster.receivers.deployments import Deployment
from muster.settings.receivers import read_receivers_file

pytestmark = pytest.mark.fast


def notes(folder: Path, text: str) -> list[str]:
    file = folder / "receivers.yaml"
    file.write_text(f"deploy_dir: {folder}/deployed\n{text}")
    return list(cluster_notes(read_receivers_file(file), Deployment(folder / "deployed")))


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """The folder of an old platform, with one virtual cluster."""
    found = tmp_path / "train" / "core" / "nodes.configs"
    (found / "v1").mkdir(parents=True)
    (found / "v1" / "cluster.yaml").write_text("cluster: local\n")
    return found


def test_nothing_is_said_if_people_find_clusters(tmp_path: Path, clusters: Path) -> None:
    assert notes(tmp_path, f"receivers: ['a:1']\nplatform: {tmp_path}/train\n") == []
    assert notes(tmp_path, f"receivers: [{{address: 'a:1', offers: [v1]}}, 'a:2']\nclusters: {clusters}\n") == []
    assert notes(tmp_path, "receivers: [{address: 'a:1', offers: [local]}]\n") == []


def test_receivers_without_any_cluster_are_named(tmp_path: Path, clusters: Path) -> None:
    (clusters / "v1" / "cluster.yaml").write_text("name: another\ncluster: local\n")
    (said,) = notes(tmp_path, f"receivers: ['a:1', 'b:1']\nplatform: {tmp_path}/train\n")
    assert said == "people find no cluster at a:1, b:1: offered are v1, and there are another, local"
    (clusters / "local.yaml").write_text("backend: local\nenabled: false\n")
    (clusters / "v1" / "cluster.yaml").unlink()
    assert notes(tmp_path, f"receivers: [{{address: 'a:1', offers: [local, x]}}]\nclusters: {clusters}\n") == [
        "there is no cluster local, x, which a:1 offers",
        "people find no cluster at a:1: offered are local, x, and there are none",
    ]


def test_mistakes_in_cluster_files_are_told(tmp_path: Path, clusters: Path) -> None:
    (clusters / "v1" / "cluster.yaml").write_text("cluster: lokal\n")
    (said,) = notes(tmp_path, f"receivers: ['a:1']\nplatform: {tmp_path}/train\n")
    assert "have 1 problem, and what is wrong does not count: v1/cluster.yaml, line 1: cluster: there is no" in said
    assert said.endswith(f"`muster cluster check {clusters}` shows everything")
