"""Pages about Slurm are followed from top to bottom with a real Slurm cluster, and print what they show."""

from pathlib import Path

import pytest

from tests.guides.following_pages import follow
from tests.guides.rewriting import rewritten
from tests.guides.steps import needs_slurm, read_steps
from tests.parts.hosts import hosts_unavailable
from tests.parts.slurm import slurm_unavailable
from tests.unit.docs.pages import ROOT, pages

pytestmark = pytest.mark.slurm

_PAGES = [page for page in pages() if needs_slurm(read_steps(page.read_text(encoding="utf-8")))]


@pytest.mark.slow
@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, request: pytest.FixtureRequest) -> None:
    if missing := hosts_unavailable() or slurm_unavailable():
        pytest.skip(missing)
    text = page.read_text(encoding="utf-8")
    differences = follow(read_steps(text))
    if request.config.getoption("--update-golden") and all(one.can_be_written for one in differences):
        page.write_text(rewritten(text, differences), encoding="utf-8")
        return
    assert not differences, "\n\n".join(one.told(page) for one in differences)


def test_both_guides_to_slurm_are_among_them() -> None:
    assert {"slurm.md", "add-a-cluster.md"} <= {page.name for page in _PAGES}
