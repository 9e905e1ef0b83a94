"""Files of /proc that are read again and again: opened once, read from the start each time."""

from __future__ import annotations


class OpenFile:
    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - held for as long as this is

    def read(self) -> bytes:
        self._file.seek(0)
        return self._file.read()
