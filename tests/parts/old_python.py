"""The oldest Python of this machine that an agent may meet on a node."""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

OLDEST_WANTED = (3, 8)

_ASK = "import json, sys; print(json.dumps([sys.version_info[:3], sys.base_prefix]))"


class Python(NamedTuple):
    version: tuple[int, ...]
    path: Path

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


@cache
def oldest_python() -> Python:
    """Of those on the PATH and those that pyenv keeps: the oldest, but not older than an agent may be given."""
    found = (_ask(path) for path in sorted(set(_candidates())))
    return min(python for python in found if python is not None and python.version >= OLDEST_WANTED)


def _candidates() -> Iterator[Path]:
    folders = [Path(name) for name in os.get_exec_path() if name]
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob("versions/3.*/bin")
    for folder in chain(folders, kept):
        yield from (path.resolve() for path in folder.glob("python3.*[0-9]"))


def _ask(path: Path) -> Python | None:
    """None for what does not run: a stub may stand for a version that is not there."""
    try:
        said = subprocess.run([path, "-c", _ASK], capture_output=True, timeout=30, check=True).stdout
        version, prefix = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    real = Path(prefix, "bin", f"python{version[0]}.{version[1]}")
    return Python(tuple(version), real) if real.exists() else None
