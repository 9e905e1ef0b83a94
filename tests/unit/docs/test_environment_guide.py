"""The variables that golden files say a task gets are the ones that the guide explains."""

import json
from pathlib import Path

import pytest

from tests.unit.docs.pages import ROOT

pytestmark = pytest.mark.fast

GUIDE = (ROOT / "docs/guides/task-environment.md").read_text(encoding="utf-8")
CASES = sorted((ROOT / "tests/unit/launch/golden").glob("*.json"))
_FAMILIES = ("MUSTER_HOSTS_", "MUSTER_ENDPOINTS_", "MUSTER_PARAM_", "MUSTER_PORT_", "PET_")
"""One variable for each role, param, port or option: the guide shows one of the kind."""


_OF_THE_SPEC = {"EPOCHS"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_variable_of_a_task_is_in_the_guide(case: Path) -> None:
    tasks = json.loads(case.read_text(encoding="utf-8")).values()
    names = {name for task in tasks for name in task["env"] if not name.startswith(_FAMILIES)} - _OF_THE_SPEC

    assert "MUSTER_RANK" in names
    assert {name for name in names if f"`{name}" not in GUIDE} == set()
