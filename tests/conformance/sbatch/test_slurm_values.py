"""The forms that Slurm's values have."""

import pytest

from muster.wire.dialects.slurm import step_program, values
from muster.wire.dialects.slurm.directives import read_directives
from muster.wire.dialects.slurm.options import OPTIONS, SHORT
from muster.wire.dialects.slurm.values import Gres, NotUnderstood

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("10:30", 630),
        ("1:02:03", 3723),
        ("2-0", 172_800),
        ("1-02:30", 95_400),
        ("1-02:30:15", 95_415),
        ("0", None),
        ("UNLIMITED", None),
        ("infinite", None),
    ],
)
def test_time_has_the_forms_of_slurm(text: str, seconds: int | None) -> None:
    assert values.seconds(text) == seconds


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "1h", "-", "1-", "", "1:-2"])
def test_other_times_are_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        values.seconds(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [("4000", 4000 << 20), ("500M", 500 << 20), ("1.5G", 3 << 29), ("2TB", 2 << 40), ("64k", 64 << 10)],
)
def test_memory_is_in_mebibytes_unless_it_says_otherwise(text: str, count: int) -> None:
    assert values.memory_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("node[01-03,07]", ["node01", "node02", "node03", "node07"]),
        ("n[8-11],login", ["n8", "n9", "n10", "n11", "login"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_lists_of_nodes_are_written_out(text: str, names: list[str]) -> None:
    assert values.hosts(text) == names
    assert step_program.hosts(text) == names, "the program on the nodes says the same"


@pytest.mark.parametrize("text", ["node[1", "node[a-b]", "node[1-99999999]", "a]]"])
def test_a_list_that_slurm_would_refuse_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        values.hosts(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpu", [Gres("gpu", "", 1)]),
        ("gpu:2", [Gres("gpu", "", 2)]),
        ("gpu:a100", [Gres("gpu", "a100", 1)]),
        ("gpu:a100:4(S:0-1)", [Gres("gpu", "a100", 4)]),
        ("gres/gpu:2,nvme", [Gres("gpu", "", 2), Gres("nvme", "", 1)]),
        ("none", []),
    ],
)
def test_generic_resources_have_a_name_a_type_and_a_number(text: str, found: list[Gres]) -> None:
    assert values.gres(text) == found


def test_every_option_has_one_meaning_and_every_short_form_one_option() -> None:
    assert len({option.short for option in OPTIONS.values() if option.short}) == len(SHORT)
    for option in OPTIONS.values():
        assert not (option.idle and option.refused), option.name


@pytest.mark.parametrize(
    "line",
    [
        "--time=5",
        "--time 5",
        "-t5",
        "-t 5",
        "-t=5",
        '--time="5"',
        "-J x --time=5 # why",
        "--time=9 --time=5",
    ],
)
def test_an_option_may_be_written_in_all_these_ways(line: str) -> None:
    found = read_directives(f"#!/bin/sh\n#SBATCH {line}\n")

    assert not found.mistakes
    assert (found.value("time"), found.given["time"].line) == ("5", 2)


def test_lines_after_the_first_command_are_comments() -> None:
    found = read_directives("#!/bin/sh\n# words\n\n#SBATCH -n2\n\nset -e\n#SBATCH -n9\n")

    assert found.value("ntasks") == "2"
    assert found.late == [7]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--nodez=2", "is not an option of sbatch"),
        ("--cpus=4", "may be several options"),
        ("-Z 1", "is not an option of sbatch"),
        ("ntasks=2", "is not an option"),
        ("--time", "needs a value"),
        ("--comment='open", "cannot be read"),
    ],
)
def test_what_sbatch_would_refuse_is_a_mistake_of_its_line(line: str, message: str) -> None:
    (mistake,) = read_directives(f"#!/bin/sh\n\n#SBATCH {line}\n").mistakes

    assert mistake.line == 3
    assert message in mistake.message
