"""The files of a job: its configuration, and the third-party folder with the hook that runs on each node."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.cli.failures import WrongUsage
from muster.client.errors import BAD_INPUT, MusterError
from muster.lib.python_literals import Unreadable, keyword_arguments

FUNCTION = "cluster_config"
_FOLDER = "thirdparty"
_HOOK = "before_hook.sh"


@dataclass(frozen=True, slots=True)
class SentFiles:
    config: Path
    thirdparty: Path | None
    has_hook: bool

    @property
    def parts(self) -> dict[str, Path]:
        """Each by its path in the working directory of the tasks."""
        sent = {self.config.name: self.config}
        return sent if self.thirdparty is None else {**sent, f"{_FOLDER}/{self.thirdparty.name}": self.thirdparty}


def read_files(config: str, thirdparty: str | None) -> SentFiles:
    """Raises WrongUsage if a file is missing, and MusterError if the hook cannot run on any node."""
    path = Path(config).expanduser()
    if not path.is_file():
        raise WrongUsage(f"there is no configuration {config}", hint="-f names a file of Python")
    if not thirdparty:
        return SentFiles(path.resolve(), None, has_hook=False)
    folder = Path(thirdparty).expanduser()
    if not folder.is_dir():
        raise WrongUsage(f"{thirdparty} is not a folder", hint="-i names the third-party folder")
    folder = folder.absolute() if folder.name not in ("", ".", "..") else folder.resolve()
    hook = folder / _HOOK
    if folder.name == _FOLDER and hook.exists():
        _check_hook(hook)
        return SentFiles(path.resolve(), folder, has_hook=True)
    return SentFiles(path.resolve(), folder, has_hook=False)


def read_cluster_config(config: Path, shown: str) -> dict[str, Any]:
    """What the configuration says by `cluster_config(...)`. Nothing of it is run."""
    try:
        return keyword_arguments(config.read_bytes(), shown, FUNCTION)
    except Unreadable as error:
        hint = f"write literals in {FUNCTION}(...), or give such a value as an option and leave it out there"
        raise MusterError(str(error), code=BAD_INPUT, hint=hint) from error


def _check_hook(hook: Path) -> None:
    """Says here what each node would say later. Windows knows no executable files."""
    if os.name == "posix" and not os.access(hook, os.X_OK):
        raise MusterError(f"{hook} cannot run: it is not executable", code=BAD_INPUT, hint=f"chmod +x {hook}")
    with hook.open("rb") as file:
        first = file.readline(200)
    if not first.startswith(b"#!"):
        raise MusterError(
            f"{hook} cannot run: its first line names no interpreter", code=BAD_INPUT, hint="begin it with #!/bin/sh"
        )
    if first.rstrip(b"\n").endswith(b"\r"):
        raise MusterError(
            f"{hook} cannot run: its lines end as those of DOS do", code=BAD_INPUT, hint=f"dos2unix {hook}"
        )
