"""The reference of metrics is what the code says."""

from pathlib import Path

import pytest

from muster.server.metrics import GROUPS
from tests.conftest import Golden
from tests.unit.metrics_reference.rendering import render

pytestmark = pytest.mark.fast

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def test_the_reference_page_says_what_the_code_says(golden: Golden) -> None:
    golden(PAGE, render())


def test_no_metric_is_in_two_groups() -> None:
    names = [name for table in GROUPS.values() for name in table]
    assert len(names) == len(set(names))


def test_names_have_the_prefix_and_helps_are_sentences() -> None:
    for table in GROUPS.values():
        for name, metric in table.items():
            assert name.startswith("muster_")
            assert metric.help.endswith(".")
