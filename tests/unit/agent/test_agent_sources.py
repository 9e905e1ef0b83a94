"""The agent's promise to nodes: standard library only, and nothing newer than Python 3.8."""

import ast
import io
import sys
import zipfile
from pathlib import Path

import pytest

import muster.agent
from muster.agent.archive import archive_bytes

pytestmark = pytest.mark.fast

SOURCES = sorted(Path(muster.agent.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_source_imports_only_the_standard_library_and_itself(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            allowed = name.split(".")[0] in sys.stdlib_module_names or name == "muster.version"
            assert allowed or name.startswith("muster.agent"), name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_source_is_written_in_the_language_of_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


def test_archive_is_deterministic_and_holds_only_the_agent() -> None:
    content = archive_bytes()
    assert content == archive_bytes()
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert names[:3] == ["__main__.py", "muster/__init__.py", "muster/version.py"]
    assert names[3:] == [f"muster/agent/{path.name}" for path in SOURCES]
