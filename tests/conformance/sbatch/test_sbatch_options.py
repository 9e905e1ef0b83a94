"""Options of a script have the effect that they have for sbatch, or are refused: none is dropped without a word."""

import pytest

from muster.wire.dialects.detecting import translate
from muster.wire.dialects.scripts import script_document
from muster.wire.dialects.translation import Translation

pytestmark = pytest.mark.fast


def of(*options: str) -> Translation:
    """The script with these options, a line for each."""
    lines = "".join(f"#SBATCH {option}\n" for option in options)
    translation = translate(script_document(f"#!/bin/bash\n{lines}true\n"))
    assert translation is not None
    return translation


def problems(*options: str) -> list[str]:
    return [str(problem) for problem in of(*options).problems]


@pytest.mark.parametrize("begin", ["now+1hour", "now+60", "'now + 2 days'", "16:00", "tomorrow", "2030-01-20T12:34:00"])
def test_a_later_begin_is_refused(begin: str) -> None:
    [problem] = problems(f"--begin={begin}")

    assert "line 2: --begin: Muster starts no job at a given time" in problem


def test_a_begin_at_once_is_what_muster_does_anyway() -> None:
    assert problems("--begin=now") == problems("-b NOW") == []


@pytest.mark.parametrize(
    ("options", "nodes", "tasks", "cpus", "gpus"),
    [
        (("--gpus=v100:2", "--gpus-per-task=1"), 1, 2, 2, 2),
        (("-G 8", "--gpus-per-task=2", "-c 3"), 1, 4, 12, 8),
        (("-N 2", "-G 8", "--gpus-per-task=2"), 2, 4, 2, 4),
        (("-n 4", "-G 8", "--gpus-per-task=2"), 1, 4, 4, 8),
        (("-G 8", "--gpus-per-node=4"), 2, 2, 1, 4),
        (("-G 8", "--gres=gpu:4", "--ntasks-per-node=4"), 2, 8, 4, 4),
        (("-N 1-4", "-G 8", "--gpus-per-node=4"), 2, 2, 1, 4),
        (("-G 2", "--ntasks-per-gpu=3"), 1, 6, 6, 2),
        (("-N 2", "--gres=gpu:4", "--ntasks-per-gpu=1"), 2, 8, 4, 4),
        (("-n 6", "--ntasks-per-gpu=3"), 1, 6, 6, 2),
        (("-n 6", "-G 2", "--ntasks-per-gpu=3"), 1, 6, 6, 2),
        (("-n 3", "--gpus-per-task=2"), 1, 3, 3, 6),
        (("-G 4", "--cpus-per-gpu=3"), 1, 1, 12, 4),
        (("--gres=gpu:0",), 1, 1, 1, 0),
    ],
)
def test_gpus_and_tasks_are_counted_as_slurm_counts_them(
    options: tuple[str, ...], nodes: int, tasks: int, cpus: int, gpus: int
) -> None:
    translation = of(*options)

    assert not translation.problems
    resources = translation.data["resources"]
    found = (translation.data.get("replicas", 1), resources["cpu"], resources.get("gpu", 0))
    assert found == (nodes, cpus, gpus)
    if tasks > nodes:
        assert f"\nSLURM_NTASKS={tasks}\n" in translation.data["command"][2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-G 3", "--gpus-per-task=2"), "3 GPUs with 2 for each task"),
        (("-n 3", "-G 8", "--gpus-per-task=2"), "do not make 3 tasks"),
        (("-G 6", "--gpus-per-node=4"), "6 GPUs with 4 on each node"),
        (("-N 3", "-G 8", "--gpus-per-node=4"), "do not make 3 nodes"),
        (("-n 5", "-G 2", "--ntasks-per-gpu=3"), "do not make 5 tasks"),
        (("-n 5", "--ntasks-per-gpu=3"), "do not make 5 tasks"),
        (("-n 4", "--gpus-per-task=2", "--gres=gpu:4"), "do not make 4 GPUs on a node"),
        (("-G 2", "--gpus-per-task=1", "--ntasks-per-gpu=1"), "cannot be used with --gpus-per-task"),
        (("-G 2", "-c 2", "--cpus-per-gpu=4"), "cannot be used with --cpus-per-task"),
        (("--mem=4G", "--mem-per-cpu=1G"), "cannot be used with --mem"),
        (("--cpus-per-gpu=4",), "the job asks for none"),
        (("--mem-per-gpu=4G",), "the job asks for none"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused_as_slurm_refuses_them(
    options: tuple[str, ...], said: str
) -> None:
    [problem] = problems(*options)

    assert said in problem


@pytest.mark.parametrize(
    "option",
    [
        "--ntasks=0",
        "--nodes=0",
        "--nodes=0-2",
        "--nodes=4-2",
        "--cpus-per-task=0",
        "--ntasks-per-node=0",
        "--ntasks-per-gpu=0 -G 1",
        "--cpus-per-gpu=0 -G 1",
        "--ntasks=-1",
    ],
)
def test_counts_of_zero_are_refused(option: str) -> None:
    [problem] = problems(option)

    assert problem.startswith("line 2: --")
    assert "expected a " in problem


@pytest.mark.parametrize(
    "option",
    [
        "--segment=4",
        "--stepmgr",
        "--oom-kill-step",
        "--oom-kill-step=0",
        "--consolidate-segments",
        "--cluster=a",
        "--share",
    ],
)
def test_options_of_current_versions_and_old_names_are_known(option: str) -> None:
    translation = of(option, "-n 2")

    assert not translation.problems
    [warning] = translation.warnings
    assert warning.startswith("line 2: --")
    assert "has no effect" in warning


@pytest.mark.parametrize(("mode", "redirect"), [("append", ">>"), ("A", ">>"), ("truncate", ">"), ("t", ">")])
def test_output_is_opened_in_the_given_mode(mode: str, redirect: str) -> None:
    launcher = of(f"--open-mode={mode}", "-o log.txt").data["command"][2]

    assert f': {redirect}"$output_file"' in launcher


@pytest.mark.parametrize(
    "option", ["--open-mode=overwrite", "--signal=B:NOSUCH@10 -t 5", "--signal=B -t 5", "--external", "--test-only"]
)
def test_values_that_sbatch_refuses_are_refused(option: str) -> None:
    [problem] = problems(option)

    assert problem.startswith("line 2: --")


def test_a_file_name_may_have_the_last_digit_of_the_array_element() -> None:
    assert "% 10 ))" in of("-o log-%b.txt").data["command"][2]
