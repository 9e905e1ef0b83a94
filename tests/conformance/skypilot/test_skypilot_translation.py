"""What each file becomes: the spec, what has no effect, and what is refused."""

from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.unit.wire_dialects.reading import told, translated

pytestmark = pytest.mark.fast
CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_file_becomes_what_its_system_would_run(case: Path, golden: Golden) -> None:
    said = told(translated(case.read_text()))

    golden(case.with_suffix(".expected.txt"), said)
    assert "not-to-be-repeated" not in said
