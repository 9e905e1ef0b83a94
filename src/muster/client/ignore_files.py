"""Decides which files of a folder are left out, from `.gitignore` and `.musterignore` at every level, with git's rules.

In each folder `.musterignore` is applied after `.gitignore`, so `!weights.bin` there includes a file that git ignores.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

ALWAYS_LEFT_OUT = frozenset({".git", "__pycache__", ".venv"})
_FILES = (".gitignore", ".musterignore")


class _Patterns(Protocol):
    def check_file(self, file: str) -> Any: ...


class Rules:
    """The rules that apply inside one folder: its own, then those of its parent folders."""

    way_out = "name it in .musterignore if the job does not need it"
    """The hint for a file that cannot be packed."""

    def __init__(self, layers: Sequence[tuple[str, _Patterns]] = ()) -> None:
        self._layers = tuple(layers)

    def inside(self, folder: Path, relative: str) -> "Rules":
        lines: list[str] = []
        for name in _FILES:
            try:
                lines += (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
            except (FileNotFoundError, IsADirectoryError):
                continue
        return Rules(((relative, _compiled(lines)), *self._layers)) if lines else self

    def leave_out(self, relative: str, *, is_folder: bool) -> bool:
        if relative.rpartition("/")[2] in ALWAYS_LEFT_OUT:
            return True
        for base, patterns in self._layers:
            below = relative[len(base) + 1 :] if base else relative
            verdict: bool | None = patterns.check_file(f"{below}/" if is_folder else below).include
            if verdict is not None:
                return verdict
        return False


class NoRules(Rules):
    """Leaves nothing out, for inputs: they are data, most of which git would ignore."""

    way_out = "inputs are sent completely: move it out of the folder, or name only the parts that the job reads"

    def inside(self, folder: Path, relative: str) -> Rules:
        return self

    def leave_out(self, relative: str, *, is_folder: bool) -> bool:
        return False


def _compiled(lines: Sequence[str]) -> _Patterns:
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines(lines)
