"""Wrong values in the files of these suites are problems or harmless, and never a crash."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.errors import Invalid
from muster.wire.dialects.slurm.options import OPTIONS
from muster.wire.documents import Document, read_document
from muster.wire.specs import read_source, reading_of
from tests.unit.wire_dialects.test_wrong_shapes import WRONG, places, replaced

pytestmark = pytest.mark.fast
CASES = sorted(Path(__file__).parent.glob("*/cases/everything.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parents[1].name)
def test_wrong_value_anywhere_is_a_problem_or_harmless(case: Path) -> None:
    document = read_document(case.read_text())
    for place in places(document.data):
        for wrong in WRONG:
            with suppress(Invalid):
                reading_of(Document(replaced(document.data, place, wrong), document.lines))


OPTION = st.sampled_from(sorted(OPTIONS))
VALUE = st.text("0123456789abgpu:,-[]%@=&|/.+*? ", max_size=12) | st.sampled_from(
    ["0", "-1", "999999999999", "gpu:", "gpu::", "[", "1-0", "a[5-1]", "B:", "@", ":", ",", "%", "%j%", "99999-0"]
)


@given(st.lists(st.tuples(OPTION, VALUE), max_size=6))
def test_any_value_of_an_option_is_a_problem_or_harmless(options: list[tuple[str, str]]) -> None:
    lines = [f"#SBATCH --{name}='{value}'" for name, value in options]

    with suppress(Invalid):
        read_source("\n".join(["#!/bin/sh", "#SBATCH -J fuzz", *lines, "srun hostname"]))


HOSTILE = [
    "--nodelist=" + "[1]" * 2000,
    "--nodelist=" + "," * 60_000,
    "--nodelist=r[1-60000]n[1-60000]m[1-60000]",
    "--time=" + "9" * 5000,
    "--mem=" + "9" * 5000,
    "--ntasks=999999999 --ntasks-per-node=1",
    "--nodes=999999999",
    "--gres=gpu:" + "9" * 5000,
    "--output=%" + "9" * 5000 + "j",
    "--signal=B:USR1@" + "9" * 5000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:20])
def test_hostile_value_is_a_problem_or_harmless(line: str) -> None:
    with suppress(Invalid):
        read_source(f"#!/bin/sh\n#SBATCH -J hostile {line}\ntrue\n")


@pytest.mark.parametrize(
    "line", ["srun " * 12_000 + "--mpi=none", "module load " * 5000, "if " * 20_000 + "sbatch", ";" * 60_000]
)
def test_hostile_line_of_a_script_is_searched_in_no_time(line: str) -> None:
    """It would take minutes if a pattern went over the line from each of its words."""
    with suppress(Invalid):
        read_source(f"#!/bin/sh\n#SBATCH -J hostile -n2\n{line}\n")


def test_script_that_is_too_long_for_a_command_is_refused() -> None:
    with pytest.raises(Invalid, match="the script is larger than 64 KiB"):
        read_source("#!/bin/sh\n" + "true\n" * 20_000)
