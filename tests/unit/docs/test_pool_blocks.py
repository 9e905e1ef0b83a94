"""The cluster files that the guide shows are accepted, and it names every key that they may have."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from muster.backends.local.cluster_file import LocalIn
from muster.backends.ssh.cluster_file.schema import SshIn, SshNodeIn
from muster.wire.physical_schema import FolderIn
from tests.parts.cluster_folders import cluster_folder
from tests.unit.docs.pages import ROOT, blocks

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/ssh-pool.md"


def test_the_files_in_the_guide_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in (tmp_path / "psw", tmp_path / ".ssh" / "id_ed25519"):
        secret.parent.mkdir(exist_ok=True)
        secret.write_text("secret")
        secret.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    (listed,) = blocks(GUIDE, "json")
    (tmp_path / "gpu_slaver_info.json").write_text(listed)
    for block in blocks(GUIDE, "yaml"):
        name = block.split("\n", 1)[0].removeprefix("# clusters.d/")
        (tmp_path / name).write_text(block)
    found = cluster_folder(tmp_path).read()
    assert {cluster.name: [node.name for node in cluster.nodes] for cluster in found.physical} == {
        "lab": ["gpu1", "gpu2", "gpu3.example.org", "gpu7"],
        "old": ["node1", "node2"],
    }
    assert [(node.name, node.labels) for node in found.nodes] == [("gpu1", {"disk": "ssd"})]


@pytest.mark.parametrize("model", [SshIn, LocalIn, SshNodeIn, FolderIn])
def test_the_guide_names_every_key(model: type[BaseModel]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert {
        key for name, field in model.model_fields.items() if f"`{(key := field.alias or name)}`" not in text
    } == set()
