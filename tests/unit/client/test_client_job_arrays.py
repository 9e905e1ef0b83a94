"""The jobs that an array of Slurm becomes."""

from pathlib import Path
from typing import Any

import pytest

from muster.client.errors import MusterError
from muster.client.job_arrays import elements

pytestmark = pytest.mark.fast


def of(*options: str, after: str = "true\n", **overrides: Any) -> list[dict[str, Any]]:
    lines = "".join(f"#SBATCH {option}\n" for option in options)
    return elements(f"#!/bin/bash\n{lines}{after}", Path("train.sbatch"), overrides)


def names(*options: str, **more: Any) -> list[str]:
    return [one["name"] for one in of(*options, **more)]


@pytest.mark.parametrize(
    "options",
    [
        ["--array=1-3", "--array=7-8"],
        ["--array=1-3 -a 7,8"],
        ["-a1-3", "--arr", "--array 7-8"],
        ['--array="7-8"'],
        ["-a=7-8 # words"],
        ["--ar=[7-8]"],
        ["--comment='--array=1-3' -a7-8"],
    ],
)
def test_the_last_array_counts_in_all_forms_of_an_option(options: list[str]) -> None:
    assert names(*options) == ["train-7", "train-8"]


def test_the_last_name_counts() -> None:
    assert names("-J one --job-name='my two'", "--array=0") == ["my-two-0"]


def test_an_array_after_the_first_command_or_of_a_later_part_is_none() -> None:
    assert names("-J x", after="true\n#SBATCH --array=1-3\n") == []
    assert names("--array=1", "hetjob", "--array=1-3") == ["train-1"]


@pytest.mark.parametrize(
    ("array", "step"), [("0-9", "1"), ("0-20:5%2", "5"), ("1,3,5", "2"), ("1,2,9", "1"), ("4", "1"), ("9,6,3", "3")]
)
def test_each_element_knows_the_step_of_the_array(array: str, step: str) -> None:
    assert {one["env.SLURM_ARRAY_TASK_STEP"] for one in of(f"--array={array}")} == {step}


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ("5-1", "5-1 ends before it begins"),
        ("1-9:0", "1-9:0 has a step of 0"),
        ("1-x", "cannot be read"),
        (",", "cannot be read"),
        ("0-5000", "more than 1000 elements"),
        ("0-2000000000", "more than 1000 elements"),
        (",".join(f"{n}000-{n}900" for n in range(1, 99)), "more than 1000 elements"),
    ],
)
def test_an_array_that_sbatch_would_refuse_is_refused(array: str, said: str) -> None:
    with pytest.raises(MusterError, match="--array=") as caught:
        of(f"--array={array}")
    assert said in caught.value.message


def test_one_chosen_element_is_no_array() -> None:
    assert of("--array=0-3", **{"env.SLURM_ARRAY_TASK_ID": "3"}) == []
