"""The virtual clusters that the guide shows are accepted, and it names every key that one may have."""

from pathlib import Path

import pytest

from muster.settings.clusters import ClusterFolder
from muster.wire.cluster_schema import DefaultsIn, LimitsIn, ShareIn, VirtualClusterIn
from tests.unit.docs.pages import ROOT, blocks

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/virtual-clusters.md"


def test_the_files_in_the_guide_are_valid(tmp_path: Path) -> None:
    files = [block for block in blocks(GUIDE, "yaml") if block.startswith("# clusters.d")]
    for number, block in enumerate(files):
        (tmp_path / f"{number}.yaml").write_text(block)
    assert [vc.name for vc in ClusterFolder(tmp_path, ("local",)).read()] == ["vision", "default"]


@pytest.mark.parametrize("model", [VirtualClusterIn, ShareIn, LimitsIn, DefaultsIn])
def test_the_guide_names_every_key(model: type[VirtualClusterIn]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert {
        key for name, field in model.model_fields.items() if f"`{(key := field.alias or name)}`" not in text
    } == set()
