"""srun takes some of a job's variables for options of its steps."""

import pytest

from muster.agent.batch.step_variables import for_steps

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_MEM_PER_CPU": "2000", "SLURM_MEM_PER_NODE_HET_GROUP_1": "1000"},
        {"SLURM_MEM_PER_CPU_HET_GROUP_0": "2000", "SLURM_MEM_PER_CPU_PACK_GROUP_0": "2000"},
        {"SLURM_MEM_PER_GPU": "4000"},
        {"SLURM_CPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "cpu=3"},
        {"SLURM_TRES_PER_TASK": "cpu:1,gres/gpu:a100:2", "SLURM_GPUS_PER_TASK": "a100:2", "SLURM_GPUS_PER_NODE": "2"},
    ],
    ids=["two kinds of memory", "memory of a component", "memory per GPU", "Slurm 24", "GPUs in Slurm 24"],
)
def test_what_srun_would_take_for_options_is_left_out(variables: dict[str, str]) -> None:
    kept = {"SLURM_JOB_ID": "7", "SLURM_CONF": "/etc/slurm.conf", "SLURM_NTASKS_PER_NODE": "1", "HOME": "/home/ada"}
    assert for_steps({**kept, **variables}) == kept
