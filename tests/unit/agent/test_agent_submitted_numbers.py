"""An sbatch that ends well has submitted a job only if it names one, or if Slurm knows it by its name."""

from pathlib import Path

import pytest

from muster.agent.batch.earlier import own_account
from muster.agent.batch.programs import REJECTED, Programs
from muster.agent.batch.spool import Spool
from muster.agent.batch.submission import submit, submitted_number
from muster.agent.errors import AgentError

pytestmark = pytest.mark.fast
FACTS = {"name": "train.k.1", "tasks": ["k.1.worker.0"]}


@pytest.mark.parametrize(
    ("out", "number"),
    [
        ("12\n", "12"),
        ("12;hpc\n", "12"),
        ("a warning\n12\n", "12"),
        ("", None),
        ("\n", None),
        ("slurm-wlm 22.05.8", None),
    ],
)
def test_number_is_in_the_last_line(out: str, number: str | None) -> None:
    assert submitted_number(out) == number


@pytest.mark.parametrize("said", ["", "sbatch: Job 7 to start at 2026-01-01T00:00:00"])
def test_answer_without_a_number_is_told_and_leaves_nothing(tmp_path: Path, said: str) -> None:
    spool = _spool(tmp_path)
    with pytest.raises(AgentError, match=f"submitted no job, and said: {said or 'nothing'}") as refused:
        submit(_programs(tmp_path, said, known=""), spool.gang("k.1"), FACTS, [], b"#!/bin/sh\n")
    assert refused.value.code == REJECTED
    assert spool.gang("k.1").facts() is None


def test_job_that_slurm_knows_by_its_name_counts(tmp_path: Path) -> None:
    gang = _spool(tmp_path).gang("k.1")
    assert submit(_programs(tmp_path, "", known="9"), gang, FACTS, [], b"#!/bin/sh\n") == "9"
    assert gang.job() == "9"


def test_job_of_somebody_else_with_its_name_does_not_count(tmp_path: Path) -> None:
    programs = _programs(tmp_path, "", known="9")
    own = f"--user={own_account()}"
    (tmp_path / "commands" / "squeue").write_text(f'#!/bin/sh\ncase " $* " in *" {own} "*) ;; *) echo 9;; esac\n')

    with pytest.raises(AgentError, match="submitted no job"):
        submit(programs, _spool(tmp_path).gang("k.1"), FACTS, [], b"#!/bin/sh\n")


def _spool(folder: Path) -> Spool:
    found = Spool(str(folder / "spool"))
    found.make()
    return found


def _programs(folder: Path, said: str, known: str) -> Programs:
    commands = folder / "commands"
    commands.mkdir()
    for name, text in (
        ("sbatch", f"cat > /dev/null; echo '{said}' >&2"),
        ("squeue", f"echo {known}"),
        ("sacct", "exit 1"),
    ):
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    return Programs(str(commands), {})
