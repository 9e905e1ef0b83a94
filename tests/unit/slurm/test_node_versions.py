"""What a node says of its driver, CUDA and cuDNN, and how it differs from what the cluster file expects."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.agent.batch.versions import VERSIONS
from muster.backends.slurm.examination import differences
from muster.backends.slurm.options import Expected
from tests.parts.gpu_software import pretend_gpu_software

pytestmark = pytest.mark.fast
_FOUND = {"slurm": "22.05.8", "driver": "535.104.05", "cuda": "12.2", "cudnn": "8.9.7"}


def test_versions_are_those_of_the_nodes_programs_and_header(tmp_path: Path) -> None:
    programs, home = tmp_path / "bin", tmp_path / "cuda"
    pretend_gpu_software(programs, home)

    found = _said({"PATH": f"{programs}:{os.defpath}", "CUDA_HOME": str(home), "CUDNN_HOME": str(home)})

    assert {name: found[name] for name in ("driver", "cuda", "cudnn")} == {
        "driver": "535.104.05",
        "cuda": "12.2",
        "cudnn": "8.9.7",
    }


def test_what_a_node_does_not_have_is_not_told(tmp_path: Path) -> None:
    """`nvidia-smi` is there, and there is no GPU that it could ask."""
    broken = tmp_path / "nvidia-smi"
    broken.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed' >&2\nexit 9\n")
    broken.chmod(0o755)

    assert "driver" not in _said({"PATH": f"{tmp_path}:{os.defpath}"})


@pytest.mark.parametrize("name", ["slurm", "driver", "cuda", "cudnn"])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_only_as_much_of_a_version_is_compared_as_is_expected(name: str, parts: int) -> None:
    there = _FOUND[name].split(".")
    same, other = ".".join(there[:parts]), ".".join([*there[: parts - 1], "77"])

    assert list(differences(Expected(**{name: same}), _FOUND)) == []
    assert list(differences(Expected(**{name: other}), _FOUND)) == [
        f"the file expects {name} {other}, and there is {_FOUND[name]}"
    ]


@pytest.mark.parametrize("name", ["slurm", "driver", "cuda", "cudnn"])
def test_version_that_is_expected_and_not_found_is_told(name: str) -> None:
    found = {other: version for other, version in _FOUND.items() if other != name}
    assert list(differences(Expected(**{name: "12"}), found)) == [f"the file expects {name} 12, and none was found"]
    assert list(differences(Expected(), found)) == []


def _said(env: Mapping[str, str]) -> dict[str, str]:
    done = subprocess.run(["sh", "-c", VERSIONS], env=dict(env), capture_output=True, text=True, check=True)
    return dict(line.split(None, 1) for line in done.stdout.splitlines())
