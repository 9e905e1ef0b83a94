"""Whose logins a cluster uses, in a file: a server that starts finds jobs there that it has submitted before."""

import json
import os
from pathlib import Path


class LoginRegister:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.owners: tuple[str, ...] = _read(path)

    def add(self, owner: str) -> None:
        if owner not in self.owners:
            self._write((*self.owners, owner))

    def remove(self, owner: str) -> None:
        if owner in self.owners:
            self._write(tuple(one for one in self.owners if one != owner))

    def _write(self, owners: tuple[str, ...]) -> None:
        """It is on the disk before anything is submitted."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            json.dump(owners, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)
        self.owners = owners


def _read(path: Path) -> tuple[str, ...]:
    try:
        return tuple(str(one) for one in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
