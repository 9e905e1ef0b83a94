"""Files that a deployment writes into the folder of a receiver, and leaves alone once somebody has edited them."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from muster.receivers.small_files import write_text

_MARK = re.compile(r"^# Written by `muster receivers deploy` \(([0-9a-f]{16})\).*\n", re.MULTILINE)
_WORDS = "Once you have edited this file, deployments leave it as it is."
PRIVATE = 0o600
PROGRAM = 0o700


class Change(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """Somebody has edited it, and it differs from what would be written."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    text: str
    mode: int = PRIVATE

    @property
    def whole(self) -> str:
        """The file's text with a line that tells whether somebody has changed the rest."""
        first, mark, rest = self.text.partition("\n") if self.text.startswith("#!") else ("", "", self.text)
        return f"{first}{mark}# Written by `muster receivers deploy` ({_digest(self.text)}). {_WORDS}\n{rest}"


Files = Mapping[str, WrittenFile]


def compared(folder: Path, files: Files) -> dict[str, Change]:
    return {name: _compared(folder / name, file) for name, file in files.items()}


def write_changed(folder: Path, files: Files, changes: Mapping[str, Change]) -> None:
    """Raises OSError."""
    for name, file in files.items():
        if changes[name] in (Change.CREATED, Change.CHANGED):
            write_text(folder / name, file.whole, file.mode)


def _compared(path: Path, file: WrittenFile) -> Change:
    try:
        present = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Change.CREATED
    except (OSError, ValueError):
        return Change.CHANGED
    if present == file.whole:
        return Change.UNCHANGED
    return Change.KEPT if _is_edited(present) else Change.CHANGED


def _is_edited(text: str) -> bool:
    found = _MARK.search(text)
    return found is None or _digest(text[: found.start()] + text[found.end() :]) != found[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
