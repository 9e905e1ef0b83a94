"""Hints about other libraries agree with the project file, and send nobody to a package of strangers."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from muster.lib.own_environment import LDAP3, PYARROW, pip_install

pytestmark = pytest.mark.fast
ROOT = Path(__file__).parents[3]
_FROM_AN_INDEX = re.compile(r"pip3? install [^\n`]*(?<![\w./-])muster(-ml)?(\[|==|'|`|\s|$)")


def test_libraries_are_those_of_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert (extras["parquet"], extras["ldap"]) == ([PYARROW], [LDAP3])


def test_a_library_is_installed_where_muster_runs() -> None:
    assert shlex.split(pip_install(PYARROW)) == [sys.executable, "-m", "pip", "install", "pyarrow>=18"]


def test_nothing_tells_people_to_install_muster_from_a_package_index() -> None:
    """No index has it under a name of ours."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src/muster").rglob("*.py")]
    found = [str(path) for path in pages if _FROM_AN_INDEX.search(path.read_text(encoding="utf-8"))]
    assert found == []
