"""What each file becomes: the spec, what has no effect, and what is refused."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.wire.specs import read_spec
from tests.conftest import Golden
from tests.unit.wire_dialects.reading import told, translated

pytestmark = pytest.mark.fast
CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_file_becomes_what_its_system_would_run(case: Path, golden: Golden) -> None:
    said = told(translated(case.read_text()))

    golden(case.with_suffix(".expected.txt"), said)
    assert "not-to-be-repeated" not in said


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("gpu: 2", "line 3: gpu: unknown key (did you mean resources.gpu?)"),
        ("replica: 2", "line 3: replica: unknown key (did you mean replicas?)"),
        ("resources: {gpus: 2}", "line 3: resources.gpus: unknown key (did you mean gpu?)"),
        ("image: a/b", "line 3: image: unknown key (did you mean runtime.image?)"),
    ],
)
def test_a_file_with_keys_of_muster_is_no_skypilot_task_for_its_run(line: str, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: a\nrun: python train.py\n{line}\n")

    assert "line 2: run: unknown key (did you mean command?)" in map(str, refused.value.problems)
    assert problem in map(str, refused.value.problems)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "num_nodes: 2\nfoo: 1",
            "line 4: foo: is no key of a SkyPilot task (the file is read as one because of `run`; the key of Muster's"
            " own specs is `command`)",
        ),
        (
            "resources: {cpus: 4, gpus: 2}",
            "line 3: resources.gpus: is no key of SkyPilot's resources (did you mean accelerators?)",
        ),
    ],
)
def test_an_unknown_key_of_a_skypilot_task_says_why_it_is_read_as_one(line: str, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: a\nrun: python train.py\n{line}\n")

    assert [str(one) for one in refused.value.problems] == [problem]
