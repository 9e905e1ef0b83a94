"""The lines of a cluster file say by an exit code which of them has ended the batch script."""

import subprocess

import pytest

from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_facts import job_facts
from muster.backends.slurm.answers.job_records import JobRecord
from muster.backends.slurm.gang_marks import Begin, GangMarks, TaskMarks
from muster.backends.slurm.observing import observations
from muster.backends.slurm.options import SlurmOptions
from muster.backends.slurm.site_lines import (
    NO_INTERFACE,
    NO_MODULE,
    NO_PROLOG,
    needs_trial,
    site_lines,
    trial_lines,
    trial_problem,
)
from muster.domain.failures.exit_causes import ENGINE_START
from muster.ports.backend import Phase

pytestmark = pytest.mark.fast
_MODULE = 'module() { [ "$2" = gcc/12 ] || { echo "no $2" >&2; return 1; }; }'


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (SlurmOptions(prolog=("exit 3",)), NO_PROLOG),
        (SlurmOptions(prolog=("exit 0",)), NO_PROLOG),
        (SlurmOptions(prolog=("if then",)), NO_PROLOG),
        (SlurmOptions(prolog=("false", "(exit 4)")), 5),
        (SlurmOptions(modules=("gcc/12",)), 5),
        (SlurmOptions(modules=("gcc/12", "gcc/13")), NO_MODULE),
        (SlurmOptions(interface="lo"), 5),
        (SlurmOptions(env={"A": "b c"}), 5),
    ],
)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_exit_code_names_the_key(options: SlurmOptions, code: int, shell: str) -> None:
    script = "\n".join([_MODULE, *site_lines(options), "exec sh -c 'exit 5'"])
    assert subprocess.run([shell, "-c", script], capture_output=True, check=False).returncode == code


def test_module_fails_where_there_are_none() -> None:
    script = "\n".join(site_lines(SlurmOptions(modules=("no-such/module",))))
    assert subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode == NO_MODULE


def test_trial_looks_for_the_interface() -> None:
    assert not needs_trial(SlurmOptions())
    for interface, code in (("lo", 0), ("ib9", NO_INTERFACE)):
        script = trial_lines(SlurmOptions(interface=interface))
        assert subprocess.run(["sh", "-c", script], check=False).returncode == code


def test_problem_names_the_key_with_what_was_printed() -> None:
    options = SlurmOptions(modules=("gcc/12",), prolog=("exit 3",), interface="ib9")
    said = "srun: error: n1: task 0: Exited with exit code 78\nno gcc/12\n"
    assert trial_problem(options, NO_MODULE, said) == "modules: gcc/12 cannot be loaded on a node: no gcc/12"
    assert trial_problem(options, NO_PROLOG, "") == "prolog: a line of it ends the batch script on a node"
    assert trial_problem(options, NO_INTERFACE, said) == "network.interface: a node has no interface ib9"


@pytest.mark.parametrize(("code", "key"), [(NO_PROLOG, "`prolog`"), (NO_MODULE, "`modules`")])
def test_job_that_ended_there_is_told_with_the_key(code: int, key: str) -> None:
    gang = GangMarks("job.1", "7", "train.job.1", (TaskMarks("worker"),))
    (found,) = observations(gang, job_facts(JobRecord(7, ("FAILED",), ended_at=30.0, exit=JobExit(code))))
    assert (found.phase, found.error_code) == (Phase.ENDED, ENGINE_START)
    assert key in found.error_message


def test_job_whose_tasks_have_begun_ended_otherwise() -> None:
    gang = GangMarks("job.1", "7", "train.job.1", (TaskMarks("worker", Begin(20.0, "n1")),))
    (found,) = observations(gang, job_facts(JobRecord(7, ("FAILED",), ended_at=30.0, exit=JobExit(NO_PROLOG))))
    assert found.phase is Phase.LOST
