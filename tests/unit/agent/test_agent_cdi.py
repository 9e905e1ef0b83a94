"""What is said of the files that describe cards to container engines."""

import json
from pathlib import Path

import pytest

from muster.agent.gpus.cdi import missing

pytestmark = pytest.mark.fast

AS_GENERATED = """cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: all
kind: nvidia.com/gpu
"""


def said(folder: Path, text: str, name: str = "nvidia.yaml") -> str:
    (folder / name).write_text(text)
    return missing([str(folder)])


def test_description_as_nvidias_tool_writes_it_will_do(tmp_path: Path) -> None:
    assert said(tmp_path, AS_GENERATED) == ""


def test_description_of_many_cards_is_read_to_its_end(tmp_path: Path) -> None:
    assert said(tmp_path, AS_GENERATED.replace("devices:", "  env:\n" + "  - A=b\n" * 100_000 + "devices:")) == ""


def test_description_as_json_will_do(tmp_path: Path) -> None:
    cards = {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [{"name": "0"}, {"name": "1"}]}
    assert said(tmp_path, json.dumps(cards), "nvidia.json") == ""
    assert said(tmp_path, json.dumps(cards, indent=2), "nvidia.json") == ""


def test_without_a_description_it_says_how_to_make_one(tmp_path: Path) -> None:
    assert missing([str(tmp_path / "none")]).endswith("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")
    assert "describes the GPUs" in said(tmp_path, AS_GENERATED, "nvidia.yaml.old")


def test_cards_of_another_maker_do_not_count(tmp_path: Path) -> None:
    assert "describes the GPUs" in said(tmp_path, AS_GENERATED.replace("nvidia.com", "amd.com"))
    assert "describes the GPUs" in said(tmp_path, AS_GENERATED.replace("nvidia.com/gpu", "nvidia.com/gpu-management"))


def test_cards_by_other_names_than_numbers_do_not_count(tmp_path: Path) -> None:
    told = said(tmp_path, AS_GENERATED.replace('"0"', "GPU-8dd9-11f0"))
    assert told.endswith("--device-name-strategy=index")


def test_description_that_the_account_cannot_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "nvidia.yaml").symlink_to(tmp_path / "gone")  # a mode would not keep root out
    assert missing([str(tmp_path)]) == f"{tmp_path}/nvidia.yaml cannot be read: chmod a+r {tmp_path}/nvidia.yaml"
