"""Writes the files of a template into a folder. Nothing is written if one of them is there already."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from muster.cli.failures import Failure
from muster.domain.templates import is_hidden


def write_files(files: Mapping[str, str], folder: Path, *, force: bool) -> list[Path]:
    """Returns the files that were written. With `force`, files that are there are replaced."""
    targets = {_target(folder, path): text for path, text in files.items()}
    taken = [path for path in targets if path.exists() or path.is_symlink()]
    if taken and not force:
        names = ", ".join(str(path) for path in taken[:5])
        raise Failure(f"{names} is there already" if len(taken) == 1 else f"{names} are there already", hint=_FORCE)
    for path, text in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(targets)


_FORCE = "choose another folder, or replace what is there with --force"


def _target(folder: Path, path: str) -> Path:
    """Raises Failure for a path that does not stay in the folder, also by a link that is there."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise Failure(f"the template has a file with a path that is not allowed: {path!r}")
    if is_hidden("/".join(parts)):
        hint = "programs obey such files unasked; tell its author"
        raise Failure(f"the template has a hidden file, and nothing of it is written: {path!r}", hint=hint)
    target = folder.joinpath(*parts)
    if not target.parent.resolve().is_relative_to(folder.resolve()) or target.is_symlink():
        raise Failure(f"{target} is behind a link, and is not written")
    return target
