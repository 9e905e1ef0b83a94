"""Files and modules that the pages mention exist."""

import re
from pathlib import Path

import pytest

from tests.unit.docs.pages import ROOT, pages

pytestmark = pytest.mark.fast

PACKAGE = ROOT / "src/muster"
_PACKAGES = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
_FOLDERS = {"src", "tests", "bench", "docs", "examples", "deploy", "scripts"}
_GENERATED = {"bench/results"}
"""Folders that exist only after a command has created them."""
_PATH = re.compile(rf"(?<![\w./~$-])(?:{'|'.join(sorted(_PACKAGES | _FOLDERS))})(?:/[\w.-]+)+")
_NAME = re.compile(r"`([a-z_]+)`")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_the_repository_that_a_page_mentions_exists(page: Path) -> None:
    mentioned = {path.rstrip(".") for path in _PATH.findall(page.read_text(encoding="utf-8"))}

    assert {path for path in mentioned - _GENERATED if not _exists(path, page)} == set()


def test_modules_of_the_architecture_are_found() -> None:
    page = ROOT / "docs/architecture.md"

    assert {"engine/lifecycle/reconciling", "domain/jobs.py"} <= set(_PATH.findall(page.read_text(encoding="utf-8")))


def test_every_module_that_the_architecture_names_alone_exists() -> None:
    modules = {path.stem for path in PACKAGE.rglob("*.py")} | {
        path.name for path in PACKAGE.rglob("*") if path.is_dir()
    }
    named = {name for cell in _where_cells(ROOT / "docs/architecture.md") for name in _NAME.findall(cell)}

    assert named
    assert named - modules == set()


def _exists(path: str, page: Path) -> bool:
    """A path starts at the root, at the package `muster`, or at the folder of the page itself."""
    found = [start / path for start in (ROOT, PACKAGE, page.parent)]
    return any(one.exists() or one.with_name(f"{one.name}.py").exists() for one in found)


def _where_cells(page: Path) -> list[str]:
    """The cells of the column `where` in all tables of a page."""
    cells: list[str] = []
    column = None
    for line in page.read_text(encoding="utf-8").splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not row:
            column = None
        elif column is None:
            column = row.index("where") if "where" in row else len(row)
        elif column < len(row):
            cells.append(row[column])
    return cells
