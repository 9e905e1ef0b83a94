"""The output of a batch script says why nothing could start, and whether Slurm killed its tasks for memory."""

from pathlib import Path

import pytest

from muster.agent.batch.script_output import last_words, was_killed_for_memory

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("said", "is_killed"),
    [
        ("slurmstepd-n1: error: StepId=1.0 exceeded memory limit (300933120 > 52428800), being killed\n", True),
        ("loading\nslurmstepd: error: Exceeded job memory limit\n", True),
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0. Some\n",
            True,
        ),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some\n",
            True,
        ),
        ("srun: error: n1: task 0: Killed\n", False),
        ("slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-18T02:31:41 DUE TO TIME LIMIT ***\n", False),
        ("my program ran out of memory\n", False),
        ("", False),
    ],
)
def test_words_of_slurm(tmp_path: Path, said: str, is_killed: bool) -> None:
    (tmp_path / "script.out").write_text(said)

    assert was_killed_for_memory(str(tmp_path / "script.out")) is is_killed


def test_script_without_output(tmp_path: Path) -> None:
    assert not was_killed_for_memory(str(tmp_path / "absent"))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "srun: cluster configuration lacks support for cpu binding\n"
            "srun: error: Unable to create step for job 1: Memory required by task is not available\n",
            "srun: error: Unable to create step for job 1: Memory required by task is not available",
        ),
        ("module: no such module\nsrun: error: one\nsrun: error: one\n", "srun: error: one"),
        ("python3: not found\n\n", "python3: not found"),
        ("", "it printed nothing"),
    ],
)
def test_last_words_are_the_errors_of_slurm(tmp_path: Path, said: str, words: str) -> None:
    (tmp_path / "script.out").write_text(said)

    assert last_words(str(tmp_path / "script.out")) == words
