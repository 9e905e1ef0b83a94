"""The output of a batch script says why nothing could start, and whether Slurm killed its tasks for memory."""

from pathlib import Path

import pytest

from muster.agent.batch.script_output import KilledFor, killed_for, last_words, step_words

pytestmark = pytest.mark.fast


_STEP = "slurmstepd-n1: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-11-18T02:31:41"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "slurmstepd-n1: error: StepId=1.0 exceeded memory limit (300933120 > 52428800), being killed\n",
            KilledFor.MEMORY,
        ),
        ("loading\nslurmstepd: error: Exceeded job memory limit\n", KilledFor.MEMORY),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0. Some\n", KilledFor.MEMORY),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some\n", KilledFor.MEMORY),
        (f"{_STEP} ***\nslurmstepd: error: Exceeded job memory limit\n", KilledFor.MEMORY),
        (f"srun: got SIGCONT\n{_STEP} ***\n", KilledFor.SOMEBODY),
        (f"{_STEP} DUE TO TIME LIMIT ***\n", KilledFor.SLURM),
        (f"{_STEP} DUE TO PREEMPTION ***\n{_STEP} ***\n", KilledFor.SLURM),
        (
            "slurmstepd: error:  mpi/pmix_v4: _errhandler: n1 [0]: pmixp_client_v2.c:212: Error handler invoked\n"
            f"{_STEP} ***\n",
            KilledFor.NOTHING,
        ),
        ("srun: error: n1: task 0: Killed\n", KilledFor.NOTHING),
        ("my program ran out of memory\n", KilledFor.NOTHING),
        ("", KilledFor.NOTHING),
    ],
)
def test_words_of_slurm(said: str, why: KilledFor) -> None:
    assert killed_for(said.encode()) is why


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "srun: cluster configuration lacks support for cpu binding\n"
            "srun: error: Unable to create step for job 1: Memory required by task is not available\n",
            "srun: error: Unable to create step for job 1: Memory required by task is not available",
        ),
        ("module: no such module\nsrun: error: one\nsrun: error: one\n", "srun: error: one"),
        (
            "muster: interface ib9 has no address on n1\nsrun: error: n1: task 0: Exited with exit code 1\n",
            "muster: interface ib9 has no address on n1",
        ),
        ("python3: not found\n\n", "python3: not found"),
        ("", "it printed nothing"),
    ],
)
def test_last_words_are_the_errors_of_slurm(tmp_path: Path, said: str, words: str) -> None:
    (tmp_path / "script.out").write_text(said)

    assert last_words(str(tmp_path / "script.out")) == words


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "srun: cluster configuration lacks support for cpu binding\n"
            "srun: error: Unable to confirm allocation for job 7: Socket timed out on send/recv operation\n"
            "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 7\n",
            "Unable to confirm allocation for job 7: Socket timed out on send/recv operation",
        ),
        (
            "srun: Job 7 step creation temporarily disabled, retrying\n",
            "Job 7 step creation temporarily disabled, retrying",
        ),
        ("", ""),
    ],
)
def test_words_about_a_step_are_its_errors(said: str, words: str) -> None:
    assert step_words(said) == words
