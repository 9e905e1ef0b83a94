"""Shows, tries and replaces whole cluster files for admins who edit them through the server.

A file with a mistake is never written. The version that was there before is kept in a hidden folder beside it. Only
names that cluster files have are accepted, so that no path leads elsewhere.
"""

import difflib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from muster.domain.errors import Conflict, Invalid, NotFound, Problem, StaleWrite, Unavailable
from muster.lib.partial_files import sync_folder
from muster.ports.cluster_config import ClusterFile, FileTrial
from muster.settings.cluster_check import check_removal, check_text, settings_with_text
from muster.settings.cluster_files import Text, Unreadable, digest_of, is_document, read_file
from muster.settings.clusters import ClusterFolder
from muster.settings.folder_lock import only_writer
from muster.settings.masked_text import masked, masked_line
from muster.settings.private_files import write_private
from muster.wire.documents import MAX_BYTES

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}\.ya?ml")
_LONGEST_DIFF = 3000
"""How many lines are compared. The work grows with their square."""
_PREVIOUS = ".previous"
_ACCEPTED = "letters, digits, '.', '_' and '-', and it ends in .yaml"
_HIDDEN = "a password was hidden here when the file was shown"
_IN_ITS_OWN_FILE = "write it to a file that only the server's account may read, and name that file: passwordFile"


def shown_files(folder: ClusterFolder, in_force: Mapping[str, str]) -> list[ClusterFile]:
    """Raises Unavailable."""
    try:
        names = sorted(path.name for path in folder.path.iterdir() if is_document(path.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(folder, error) from None
    return [_shown(folder, name, read_file(folder.path / name), in_force) for name in names]


def shown_file(folder: ClusterFolder, name: str, in_force: Mapping[str, str], *, previous: bool) -> ClusterFile:
    """Raises NotFound."""
    path = _previous(folder, name) if previous else folder.path / name
    if not _NAME.fullmatch(name) or not path.is_file():
        what = f"no earlier version of {name!r}" if previous else f"no cluster file {name!r}"
        raise NotFound(f"there is {what}", hint="GET /cluster-files lists them")
    found = _shown(folder, name, read_file(path), in_force)
    return replace(found, is_in_force=False, modified_at=path.stat().st_mtime) if previous else found


def tried(folder: ClusterFolder, name: str, text: str | None) -> FileTrial:
    """What would come of this text; None removes the file."""
    _refuse_name(name)
    before = _present(folder, name)
    if text is None:
        if before is None:
            raise NotFound(f"there is no cluster file {name!r}", hint="GET /cluster-files lists them")
        return FileTrial(
            tuple(check_removal(folder, name)), _diff(name, before, None), settings_with_text(folder, name, None)
        )
    problems = tuple(_own_problems(name, text) or check_text(folder, name, Text(text)))
    settings = None if problems else settings_with_text(folder, name, Text(text))
    return FileTrial(problems, _diff(name, before, text), settings)


def write(folder: ClusterFolder, name: str, text: str | None, base: str | None) -> None:
    """Replace the file, or remove it. Raises Invalid, Conflict and NotFound, and nothing has changed then."""
    _refuse_name(name)
    try:
        folder.path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from None
    with only_writer(folder.path):
        _refuse_other_base(folder, name, text, base)
        if problems := tried(folder, name, text).problems:
            what = "written" if text is not None else "removed"
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise Invalid(f"{name} was not {what}: there would be {count}", problems=problems)
        try:
            _replace(folder, name, text)
        except OSError as error:
            raise _unusable(folder, error) from None


def _replace(folder: ClusterFolder, name: str, text: str | None) -> None:
    path = folder.path / name
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    if mode is not None:
        _keep(path, _previous(folder, name))
    if text is None:
        path.unlink()
        sync_folder(path.parent)
        return
    write_private(path, text)
    if mode is not None:
        path.chmod(mode)


def _keep(path: Path, kept: Path) -> None:
    """The version that is there becomes the previous one, without a moment in which there is none."""
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = kept.with_name(f".{kept.name}.new")
    temporary.unlink(missing_ok=True)
    shutil.copy2(path, temporary)
    temporary.replace(kept)
    sync_folder(kept.parent)


def _refuse_name(name: str) -> None:
    if not _NAME.fullmatch(name) or not is_document(name):
        problem = Problem("name", f"{name!r} is not a name of a cluster file", _ACCEPTED)
        raise Invalid("the file cannot have this name", problems=(problem,))


def _refuse_other_base(folder: ClusterFolder, name: str, text: str | None, base: str | None) -> None:
    path = folder.path / name
    if path.is_symlink():
        raise Conflict(f"{name} is a link", hint="change the file that it leads to, where it is kept")
    present = digest_of(path)
    if present == base or (text is None and base is None and present is not None):
        return
    if present is None:
        if text is None:
            raise NotFound(f"there is no cluster file {name!r}", hint="GET /cluster-files lists them")
        raise StaleWrite(f"{name} was removed meanwhile", hint="send it as a new file, without `base`")
    if base is None:
        raise Conflict(f"there is a cluster file {name} already", hint="read it, and send its sha256 as `base`")
    raise StaleWrite(f"{name} was changed meanwhile", hint="read it again, and make your changes there")


def _own_problems(name: str, text: str) -> list[Problem]:
    """What is wrong with the text before it is read as a cluster file."""
    if not text.strip():
        return [Problem("", "is empty", "remove the file instead", file=name)]
    if len(text) > MAX_BYTES:
        return [Problem("", f"is larger than {MAX_BYTES >> 10} KiB", file=name)]
    if (line := masked_line(text)) is not None:
        return [Problem("", _HIDDEN, _IN_ITS_OWN_FILE, line, name)]
    return []


def _shown(folder: ClusterFolder, name: str, found: Text | Unreadable, in_force: Mapping[str, str]) -> ClusterFile:
    path = folder.path / name
    try:
        facts: os.stat_result | None = path.stat()
    except OSError:
        facts = None
    modified_at, size = (facts.st_mtime, facts.st_size) if facts is not None else (0.0, 0)
    has_previous = _previous(folder, name).is_file()
    digest = digest_of(path) or ""
    if isinstance(found, Unreadable):
        return ClusterFile(name, "", digest, modified_at, size, False, False, has_previous, found.message)
    text = masked(found.text)
    is_in_force = in_force.get(name) == found.text
    return ClusterFile(name, text, digest, modified_at, size, is_in_force, text != found.text, has_previous)


def _present(folder: ClusterFolder, name: str) -> str | None:
    found = read_file(folder.path / name) if (folder.path / name).exists() else None
    return None if found is None else masked(found.text) if isinstance(found, Text) else ""


def _diff(name: str, before: str | None, after: str | None) -> str:
    """Values of passwords are hidden on both sides."""
    old, new = (before or "").splitlines(), masked(after or "").splitlines()
    if max(len(old), len(new)) > _LONGEST_DIFF:
        return f"The files have {len(old)} and {len(new)} lines, which are too many to be compared here.\n"
    lines = difflib.unified_diff(
        old,
        new,
        f"a/{name}" if before is not None else "/dev/null",
        f"b/{name}" if after is not None else "/dev/null",
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


def _previous(folder: ClusterFolder, name: str) -> Path:
    return folder.path / _PREVIOUS / name


def _unusable(folder: ClusterFolder, error: OSError) -> Unavailable:
    return Unavailable(
        f"{folder.path} cannot be used: {error.strerror}", hint="check its permissions and whether the disk is full"
    )
