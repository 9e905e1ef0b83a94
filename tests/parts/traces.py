"""Traces of others, which are not in the repository: read from `$MUSTER_TRACES`, else from `shared/traces` beside the
checkout. Tests that need one skip where it is absent.
"""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared/traces"


def foreign_trace(name: str) -> Path:
    """The file of that name; skips the test, saying where it was looked for."""
    path = Path(os.environ.get("MUSTER_TRACES") or _BESIDE) / name
    if not path.is_file():
        pytest.skip(f"no trace {name} in {path.parent}; MUSTER_TRACES names another folder")
    return path
