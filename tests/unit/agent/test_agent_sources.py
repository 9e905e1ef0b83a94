"""The agent's promise to nodes: standard library only, and nothing newer than Python 3.8."""

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import muster.agent
from muster.agent.archive import archive_bytes, build_archive

pytestmark = pytest.mark.fast

FOLDER = Path(muster.agent.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_source_imports_only_the_standard_library_and_itself(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            allowed = name.split(".")[0] in sys.stdlib_module_names or name == "muster.version"
            assert allowed or name.startswith("muster.agent"), name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_source_is_written_in_the_language_of_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


def test_archive_is_deterministic_and_holds_only_the_agent() -> None:
    content = archive_bytes()
    assert content == archive_bytes()
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert names[:3] == ["__main__.py", "muster/__init__.py", "muster/version.py"]
    assert names[3:] == [f"muster/agent/{path.relative_to(FOLDER)}" for path in SOURCES]


def test_archive_runs_where_nothing_of_muster_is_installed(tmp_path: Path) -> None:
    name = build_archive(tmp_path)
    command = [sys.executable, "-I", "-S", str(tmp_path / name), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
