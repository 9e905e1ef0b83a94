"""What a machine sees of a folder on NFS: a name that it has found missing stays missing until its folder is listed."""

import builtins
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from muster.agent.system import disk


class NfsClient:
    """`see(monkeypatch)` makes this process such a machine for what it reads. What it writes comes from another one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._missed: set[Path] = set()
        self._listdir = os.listdir

    def see(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(disk, "open", self._open, raising=False)
        monkeypatch.setattr(os, "listdir", self._list)

    def _open(self, path: str, mode: str) -> Any:
        self._find(Path(path))
        return builtins.open(path, mode)  # noqa: PTH123 - a fake of this function

    def _list(self, path: str) -> list[str]:
        self._find(Path(path))
        self._missed = {one for one in self._missed if one.parent != Path(path)}
        return self._listdir(path)

    def _find(self, path: Path) -> None:
        """Every name on the way is looked up, and remembered if it is not there."""
        names = [one for one in (*reversed(path.parents), path) if self._root in one.parents]
        missing = next((one for one in names if one in self._missed or not one.exists()), None)
        if missing is not None:
            self._missed.add(missing)
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
