"""The files that the guide shows are accepted, and it names every key that they may have."""

from pathlib import Path

import pytest

from muster.wire.cluster_schema import DefaultsIn, LimitsIn, NodeIn, NodesIn, ShareIn, VirtualClusterIn
from tests.parts.cluster_folders import cluster_folder
from tests.unit.docs.pages import ROOT, blocks

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/virtual-clusters.md"


def test_the_files_in_the_guide_are_valid(tmp_path: Path) -> None:
    files = [block for block in blocks(GUIDE, "yaml") if block.startswith("# clusters.d")]
    for number, block in enumerate(files):
        (tmp_path / f"{number}.yaml").write_text(block)
    found = cluster_folder(tmp_path).read()
    assert [vc.name for vc in found.virtual] == ["vision", "default"]
    assert [node.labels["rack"] for node in found.nodes] == ["a", "a", "b"]


@pytest.mark.parametrize("model", [VirtualClusterIn, ShareIn, LimitsIn, DefaultsIn, NodesIn, NodeIn])
def test_the_guide_names_every_key(model: type[VirtualClusterIn]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert {
        key for name, field in model.model_fields.items() if f"`{(key := field.alias or name)}`" not in text
    } == set()
