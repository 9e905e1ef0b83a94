"""The clusters that a server offers, as its settings say at the moment: a list of names, or a folder whose entries are
the names. A change counts without a restart. A mistake changes nothing, and is logged once."""

import os
from collections.abc import Callable
from pathlib import Path

import structlog

from muster.domain.errors import Invalid
from muster.settings.cluster_files import is_document

_log = structlog.get_logger("settings.offers")
Written = tuple[str, ...] | str | None
"""What the settings say: names, the path of a folder, or nothing, which offers all clusters."""
_Mark = tuple[int, int, int] | None


class OfferedClusters:
    """The clusters that a server offers. Every request looks at the times of files, and reads only what has changed."""

    def __init__(self, home: Path, written: Written, config: Path | None, read: Callable[[], Written]) -> None:
        self._home = home
        self._written = written
        self._config = config
        self._read = read
        self._config_mark = _mark(config)
        self._folder_mark: _Mark = None
        self._listed: frozenset[str] | None = None

    def __call__(self) -> frozenset[str] | None:
        mark = _mark(self._config)
        if mark != self._config_mark:
            self._config_mark = mark
            self._read_again()
        match self._written:
            case None:
                return None
            case str(folder):
                return self._in_folder(self._home / Path(folder).expanduser())
            case names:
                return frozenset(names)

    def _read_again(self) -> None:
        try:
            written = self._read()
        except Invalid as error:
            why = "; ".join([error.message, *map(str, error.problems)])
            _log.warning("the settings file has a mistake: what was offered stays offered", error=why)
            return
        if written != self._written:
            _log.info("this server offers other clusters now", offers=written)
            self._written, self._listed = written, None

    def _in_folder(self, folder: Path) -> frozenset[str]:
        mark = _mark(folder)
        if self._listed is None or mark != self._folder_mark:
            self._folder_mark = mark
            self._listed = frozenset(clusters_in(folder))
        return self._listed


def clusters_in(folder: Path) -> list[str]:
    """The names of its entries: a cluster is a file or a folder. Empty if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name if entry.is_dir() else _stem(entry.name) for entry in entries]
    except OSError as error:
        _log.warning("nothing is offered, because the folder cannot be read", folder=str(folder), error=error.strerror)
        return []
    return sorted({name for name in found if name and not name.startswith(".")})


def _stem(name: str) -> str:
    return Path(name).stem if is_document(name) else ""


def _mark(path: Path | None) -> _Mark:
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)
