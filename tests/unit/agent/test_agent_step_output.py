"""What a step prints is copied, but for the lines of runners, which say what Slurm had told before."""

import os
from pathlib import Path

import pytest

from muster.agent.batch.script_output import KilledFor
from muster.agent.batch.step_output import ENDING, StepOutput

pytestmark = pytest.mark.fast
_MEMORY = b"slurmstepd: error: StepId=1.0 exceeded memory limit (2 > 1), being killed\n"


def test_what_slurm_said_before_the_line_of_a_runner_is_known_with_it(tmp_path: Path) -> None:
    with (tmp_path / "script.out").open("wb", buffering=0) as copy:
        read, write = os.pipe()
        said = StepOutput(read, copy.fileno())
        os.write(write, _MEMORY[:10])
        said.read()
        assert (said.killed_for, said.has_ending("job.1.worker.0")) == (KilledFor.NOTHING, False)

        os.write(write, _MEMORY[10:] + f"{ENDING} job.1.worker.0\nlast".encode())
        os.close(write)
        said.read()

    assert (said.killed_for, said.has_ending("job.1.worker.0"), said.is_open) == (KilledFor.MEMORY, True, False)
    assert (tmp_path / "script.out").read_bytes() == _MEMORY + b"last"
