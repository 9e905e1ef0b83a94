"""Reads the files that are to be published as a template."""

from pathlib import Path

from muster.cli.failures import Failure
from muster.cli.templates.catalogue import JOB_FILE
from muster.client.packing import list_entries

_MAX_BYTES = 1 << 20


def files_at(path: Path) -> dict[str, str]:
    """Returns the texts of a folder by their paths, or of one file, which becomes the job file. What .gitignore and
    .musterignore name is left out."""
    if path.is_file():
        return {JOB_FILE: _text(path)}
    if not path.is_dir():
        raise Failure(f"{path} does not exist", hint="name a job file, or a folder with a job.yaml")
    found = {entry.relative: entry.path for entry in list_entries(path) if not entry.path.is_dir()}
    if JOB_FILE not in found:
        raise Failure(f"{path} has no {JOB_FILE}", hint="a template is a folder with a job.yaml, or a job file")
    links = [name for name, file in found.items() if file.is_symlink()]
    if links:
        raise Failure(f"{links[0]} is a link, which a template cannot have", hint="name it in .musterignore")
    if sum(file.stat().st_size for file in found.values()) > _MAX_BYTES:
        raise Failure(f"the files of {path} have more than {_MAX_BYTES >> 10} KiB", hint=_TOO_MUCH)
    return {name: _text(file) for name, file in found.items()}


_TOO_MUCH = "a template is for code; name large files in .musterignore, and give data to jobs as inputs or mounts"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{path} is not a text file, which a template cannot have", hint=_TOO_MUCH) from error
