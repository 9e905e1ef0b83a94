"""What the pages tell people to type is accepted by what reads it."""

import ast
from pathlib import Path

import pytest
import yaml

from muster.wire.specs import read_source, reading_of_any
from tests.unit.docs.pages import ROOT, blocks, pages

pytestmark = pytest.mark.fast

_FOREIGN = {"apiVersion", "protocolVersion"}


def _whole_specs() -> list[tuple[Path, str]]:
    return [(page, block) for page in pages() for block in blocks(page, "yaml") if _is_whole_spec(block)]


def _is_whole_spec(block: str) -> bool:
    """Fragments show one key; only what names a job and says what it runs can be submitted."""
    try:
        document = yaml.safe_load(block)
    except yaml.YAMLError:
        return False
    keys = set(document) if isinstance(document, dict) else set()
    return "name" in keys and bool(keys & {"command", "roles"}) and not keys & _FOREIGN


@pytest.mark.parametrize(("page", "block"), _whole_specs(), ids=lambda value: getattr(value, "name", ""))
def test_a_job_in_the_docs_is_a_valid_job(page: Path, block: str) -> None:
    assert read_source(block, read=reading_of_any).spec.task_count > 0, page


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_docs_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def test_job_files_are_found_in_the_guides() -> None:
    named = {page.name for page, _ in _whole_specs()}

    assert {"README.md", "README.zh-CN.md", "first-job.md", "job-spec.md", "task-environment.md"} <= named
