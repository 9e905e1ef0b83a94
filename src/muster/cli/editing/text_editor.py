"""The user's editor, and the private file that it edits."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from muster.cli.failures import Failure

_KNOWN = ("editor", "nano", "vi")


def new_file(name: str, text: str) -> Path:
    """Makes a file that nobody else can read."""
    handle, path = tempfile.mkstemp(prefix=f"muster-edit-{name}-", suffix=".yaml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)


def edit(path: Path, environ: Mapping[str, str]) -> str:
    """Lets the user edit the file, and returns its text. Raises Failure if there is no editor or it failed."""
    words = _editor(environ)
    try:
        ended = subprocess.run([*words, str(path)], check=False)
    except OSError as error:
        raise Failure(f"cannot start the editor {words[0]}: {error.strerror}", hint="set EDITOR to another") from error
    if ended.returncode:
        raise Failure(f"the editor {words[0]} ended with exit code {ended.returncode}, so nothing was done")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure("the edited file is not text in UTF-8, so nothing was done") from error


def _editor(environ: Mapping[str, str]) -> list[str]:
    chosen = environ.get("VISUAL") or environ.get("EDITOR")
    if chosen:
        try:
            words = shlex.split(chosen)
        except ValueError as error:
            raise Failure(f"cannot read the name of the editor, {chosen!r}: {error}") from error
        if words:
            return words
    found = next((path for name in _KNOWN if (path := shutil.which(name))), None)
    if found is None:
        raise Failure("no editor was found", hint="set EDITOR, such as EDITOR=vim")
    return [found]
