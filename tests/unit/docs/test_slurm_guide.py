"""The guide to Slurm clusters names every key of their files, and its tables say what the code says."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from muster.backends.slurm.answers.job_states import JOB_STATES, JobPhase, StateKind
from muster.backends.slurm.answers.wait_reasons import wait_reason
from muster.backends.slurm.cluster_file import ExpectedIn, NetworkIn, SlurmIn, SlurmLoginIn, SubmitIn
from tests.parts.cluster_folders import cluster_folder
from tests.unit.docs.pages import ROOT, blocks

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/slurm.md"
EXAMPLE = ROOT / "docs/guides/add-a-cluster.md"
_NOT_OFFERED = {"interface"}
"""A login node takes the keys of an SSH node, of which this one has no effect: `network.interface` has."""


@pytest.mark.parametrize("model", [SlurmIn, SubmitIn, NetworkIn, ExpectedIn, SlurmLoginIn])
def test_the_guide_names_every_key(model: type[BaseModel]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert {key for key in keys - _NOT_OFFERED if f"`{key}`" not in text} == set()


def test_the_guide_says_what_becomes_of_every_end_that_slurm_has() -> None:
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    ends = {state.name for state in JOB_STATES if state.kind is StateKind.BASE and state.phase is JobPhase.ENDED}
    assert {name for name in ends if not any(f"`{name}`" in row for row in rows)} == set()


@pytest.mark.parametrize(
    "code",
    [
        "Resources",
        "Priority",
        "ReqNodeNotAvail",
        "QOSMaxGRESPerUser",
        "JobHeldUser",
        "JobHeldAdmin",
        "PartitionConfig",
        "PartitionTimeLimit",
        "BadConstraints",
    ],
)
def test_the_guide_gives_reasons_in_the_words_of_the_code(code: str) -> None:
    row = next(line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{code}`"))
    reason = wait_reason(code)
    assert f"| {reason.sentence} |" in row
    assert row.endswith("| yes |") is reason.starts_by_itself


def test_the_files_of_the_example_are_valid_together(tmp_path: Path) -> None:
    for block in (block for block in blocks(EXAMPLE, "yaml") if block.startswith("# clusters.d/")):
        name = block.splitlines()[0].removeprefix("# clusters.d/")
        (tmp_path / name).write_text(block)  # the later of two files of a name is the one that stays
    found = cluster_folder(tmp_path).read()
    assert {vc.name for vc in found.virtual if vc.cluster == "yq01-idl-idl-offline"} == {
        "yq01-idl-idl-offline_slurm_cluster",
        "yq01-idl-idl-offline_vfs_slurm_cluster",
        "yq01-idl-idl-offline_vfs_metric_learning_slurm_cluster",
    }
