from pathlib import Path

import pytest

from muster.cli.main import ENTRIES, cli
from tests.conftest import Golden
from tests.unit.cli_reference.rendering import render

PAGE = Path(__file__).parents[3] / "docs/reference/cli.md"

pytestmark = pytest.mark.fast


def test_the_reference_page_says_what_help_says(golden: Golden) -> None:
    golden(PAGE, render(cli))


def test_every_command_is_on_the_page() -> None:
    titles = {line.removeprefix("### muster ") for line in render(cli).splitlines() if line.startswith("### muster ")}

    assert titles == set(ENTRIES)
