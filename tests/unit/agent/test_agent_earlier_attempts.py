"""What earlier attempts have left in the batch system is ended before another attempt is submitted."""

import getpass
from pathlib import Path

import pytest

from muster.agent.batch import earlier as module
from muster.agent.batch.earlier import Earlier, end_earlier
from muster.agent.batch.programs import UNREACHABLE, Programs
from muster.agent.batch.spool import END, Spool
from muster.agent.batch.strays import end_strays
from muster.agent.batch.submission import submit
from muster.agent.errors import AgentError

_SQUEUE = """#!/bin/sh
echo "$@" >> {folder}/asked
[ -e {folder}/away ] && {{ echo "Unable to contact slurm controller" >&2; exit 1; }}
cat {folder}/jobs
"""
_SCANCEL = """#!/bin/sh
echo "$@" >> {folder}/cancelled
[ -e {folder}/stuck ] || grep -v "^$1|" {folder}/jobs > {folder}/left
[ -e {folder}/stuck ] || mv {folder}/left {folder}/jobs
"""
_SBATCH = """#!/bin/sh
cat > /dev/null
cp {folder}/jobs {folder}/jobs-at-sbatch
echo 9
"""
EARLIER = Earlier(("train.k.1", "train.k.2"), "amy")


class Slurm:
    """Commands of a batch system that has the jobs of a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name, text in (("squeue", _SQUEUE), ("scancel", _SCANCEL), ("sbatch", _SBATCH)):
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        self.programs = Programs(str(folder), {})
        self.has()

    def has(self, *jobs: str) -> None:
        (self.folder / "jobs").write_text("".join(f"{job}\n" for job in jobs))

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def slurm(tmp_path: Path) -> Slurm:
    return Slurm(tmp_path / "commands")


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    found = Spool(str(tmp_path / "spool"))
    found.make()
    return found


def test_job_of_an_earlier_attempt_is_gone_before_the_next_is_submitted(slurm: Slurm, spool: Spool) -> None:
    slurm.has(f"7|RUNNING|{getpass.getuser()}|train.k.1")
    facts = {"name": "train.k.2", "tasks": ["k.2.worker.0"]}

    number = submit(
        slurm.programs,
        spool.gang("k.2"),
        facts,
        [],
        b"#!/bin/sh\n",
        end_earlier=lambda: end_earlier(slurm.programs, spool, EARLIER),
    )

    assert number == "9"
    assert slurm.lines("cancelled") == ["7"]
    assert slurm.lines("jobs-at-sbatch") == []


def test_one_question_is_enough_if_nothing_is_left(slurm: Slurm, spool: Spool) -> None:
    end_earlier(slurm.programs, spool, EARLIER)
    assert len(slurm.lines("asked")) == 1
    assert "--name=train.k.1,train.k.2" in slurm.lines("asked")[0]
    end_earlier(slurm.programs, spool, Earlier())
    assert len(slurm.lines("asked")) == 1, "a first attempt has nobody to ask for"


def test_job_of_somebody_else_with_the_same_name_is_left_alone(slurm: Slurm, spool: Spool) -> None:
    slurm.has("7|RUNNING|mallory|train.k.1")
    end_earlier(slurm.programs, spool, EARLIER)
    assert slurm.lines("cancelled") == []


def test_rest_of_a_job_whose_tasks_have_ended_is_not_waited_for(slurm: Slurm, spool: Spool) -> None:
    gang = spool.gang("k.1")
    gang.write_facts({"name": "train.k.1", "tasks": ["k.1.worker.0"]})
    Path(gang.task_folder("k.1.worker.0")).mkdir()
    spool.write_mark(gang, "k.1.worker.0", END, {"at": 1.0, "code": 1})
    slurm.has(f"7|COMPLETING|{getpass.getuser()}|train.k.1")
    end_earlier(slurm.programs, spool, EARLIER)
    assert slurm.lines("cancelled") == []

    spool.write_mark(gang, "k.1.worker.0", END, {"at": 1.0, "kept": {"phase": "lost"}})
    end_earlier(slurm.programs, spool, EARLIER)
    assert slurm.lines("cancelled") == ["7"], "only its own word counts"


@pytest.mark.parametrize("trouble", ["away", "stuck"])
def test_nothing_is_submitted_if_the_earlier_attempt_may_still_run(
    slurm: Slurm, spool: Spool, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_END_WITHIN_S", 0.0)
    slurm.has(f"7|RUNNING|{getpass.getuser()}|train.k.1")
    (slurm.folder / trouble).touch()
    with pytest.raises(AgentError) as refused:
        end_earlier(slurm.programs, spool, EARLIER)
    assert refused.value.code == UNREACHABLE


def test_jobs_of_gangs_that_are_over_are_cancelled_when_they_are_seen_again(slurm: Slurm, spool: Spool) -> None:
    me = getpass.getuser()
    for key, number in (("over.1", "7"), ("again.1", "8")):
        gang = spool.gang(key)
        gang.write_facts({"tasks": [f"{key}.worker.0"]})
        gang.write_job(number)
        if key == "over.1":
            gang.forget(f"{key}.worker.0")
    slurm.has(
        f"7|PENDING|{me}|muster:me:over.1",
        f"8|RUNNING|{me}|muster:me:again.1",
        f"9|RUNNING|{me}|muster:me:over.1",
        f"10|RUNNING|{me}|muster:other:else.1",
        "11|RUNNING|amy|my|comment",
    )

    assert end_strays(slurm.programs, spool, []) == ["7"]
    assert slurm.lines("cancelled") == []
    assert end_strays(slurm.programs, spool, ["7", "8", "10"]) == ["7"]
    assert slurm.lines("cancelled") == ["7"]


def test_slurm_is_not_asked_for_jobs_that_are_over_if_there_was_none(slurm: Slurm, spool: Spool) -> None:
    assert end_strays(slurm.programs, spool, []) == []
    assert slurm.lines("asked") == []
