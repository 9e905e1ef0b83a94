"""Every page is followed from top to bottom on a machine of its own, and what its commands print is what it shows.

`pytest --update-golden tests/guides` writes what has changed into the pages; what is equal stays as it is.
"""

from pathlib import Path

import pytest

from tests.guides.following_pages import follow
from tests.guides.rewriting import rewritten
from tests.guides.steps import Command, needs_slurm, read_steps
from tests.parts.hosts import hosts_unavailable
from tests.unit.docs.pages import ROOT, pages

pytestmark = pytest.mark.guides

_GUIDES = ("README", "docs/guides/", "examples/", "bench/")


def _followed() -> list[Path]:
    return [page for page in pages() if str(page.relative_to(ROOT)).startswith(_GUIDES) and _is_followed(page)]


def _is_followed(page: Path) -> bool:
    """Pages about Slurm are followed by `tests/slurm/test_slurm_guides.py`."""
    steps = read_steps(page.read_text(encoding="utf-8"))
    return any(isinstance(step, Command) for step in steps) and not needs_slurm(steps)


@pytest.mark.parametrize("page", _followed(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, request: pytest.FixtureRequest) -> None:
    if missing := hosts_unavailable():
        pytest.skip(missing)
    text = page.read_text(encoding="utf-8")
    differences = follow(read_steps(text))
    if request.config.getoption("--update-golden") and all(one.can_be_written for one in differences):
        page.write_text(rewritten(text, differences), encoding="utf-8")
        return
    assert not differences, "\n\n".join(one.told(page) for one in differences)
