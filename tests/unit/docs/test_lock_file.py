"""The lock file: every dependency of the server, at a version that the project allows, with hashes."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKED = re.compile(r"^(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,.-]+)\])?==(?P<version>[\w.]+)(?: ; .*)? \\$", re.MULTILINE)

pytestmark = pytest.mark.fast


def locked() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text()
    return {canonicalize_name(found["name"]): found["version"] for found in LOCKED.finditer(text)}


def test_the_lock_file_has_every_dependency_at_an_allowed_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = locked()
    for requirement in map(Requirement, project["dependencies"]):
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is missing: make lock"
        assert requirement.specifier.contains(version), f"{requirement.name} {version}: make lock"


def test_every_locked_package_has_hashes_and_nothing_says_where_it_comes_from() -> None:
    text = (ROOT / "requirements.lock").read_text()
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in text
    assert "--find-links" not in text


def test_extras_that_a_locked_package_asks_for_are_locked_with_it() -> None:
    """Otherwise pip takes the newest version for them, which has no hash here, as soon as there is a newer one."""
    text = (ROOT / "requirements.lock").read_text()
    extras = {
        canonicalize_name(found["name"]): set((found["extras"] or "").split(",")) for found in LOCKED.finditer(text)
    }
    for name in extras:
        for line in importlib.metadata.requires(name) or ():
            wanted = Requirement(line)
            if wanted.extras and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
                missing = wanted.extras - extras[canonicalize_name(wanted.name)]
                assert not missing, f"{name} asks for {line}, and {wanted.name} is locked without {missing}: make lock"
