"""Physical clusters with the files that their documents name: node lists are read, keys and password files looked at.

What is in a key or a password file is not read here.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster.domain.clusters import Member
from muster.domain.errors import Invalid, Problem
from muster.settings.cluster_files import Files, Unreadable
from muster.wire.documents import Document
from muster.wire.physical_clusters import Described
from muster.wire.slaver_list import read_slaver_list

_SECRETS = ("keyFile", "passwordFile")
_ABSENT = Unreadable(f"cannot be read: {os.strerror(errno.ENOENT)}")


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """What documents of the folder mean by the files that they name."""

    folder: Path
    files: Files

    def path(self, text: str) -> Path:
        """Relative ones lie in the folder of the cluster file. Raises ValueError for a home that nobody has."""
        try:
            return self.folder / Path(text).expanduser()
        except RuntimeError:
            raise ValueError("there is no such home") from None

    def of(self, document: Document) -> Iterator[Path]:
        """Those whose change may change what the document says. Never raises, whatever the document is."""
        for _, text in (*_secrets(document.data), *_lists(document.data)):
            try:
                yield self.path(text)
            except ValueError:
                continue

    def lists(self, document: Document) -> Iterator[Path]:
        """The node list that the document names. Never raises either."""
        for _, text in _lists(document.data):
            with suppress(ValueError):
                yield self.path(text)

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)

    def secret_problems(self, document: Document) -> Iterator[Problem]:
        """As ssh would have them: there, and for nobody else to read."""
        for place, text in _secrets(document.data):
            if told := _of_secret(text, self.path):
                message, hint = told
                yield Problem(place, message, hint, document.line(place))

    def listed(self, described: Described, document: Document) -> tuple[Member, ...]:
        """The nodes of the cluster's list. Raises Invalid."""
        if described.nodes_file is None:
            return ()
        try:
            name = self.name(self.path(described.nodes_file))
            found = self.files.get(name, _ABSENT)
        except ValueError as error:
            found = Unreadable(f"cannot be read: {error}")
        if isinstance(found, Unreadable):
            message = f"{described.nodes_file} {found.message}"
            problem = Problem("nodesFile", message, found.hint, document.line("nodesFile"))
            raise Invalid("", problems=(problem,))
        try:
            return tuple(replace(node, file=name) for node in read_slaver_list(found.text, described.defaults))
        except Invalid as error:
            raise Invalid("", problems=tuple(replace(problem, file=name) for problem in error.problems)) from None

    def resolved(self, members: Iterable[Member]) -> tuple[Member, ...]:
        """With the whole paths of keys and password files."""
        return tuple(self._resolved(member) for member in members)

    def _resolved(self, member: Member) -> Member:
        login = member.login
        key, password = (text and str(self.path(text)) for text in (login.key_file, login.password_file))
        return replace(member, login=replace(login, key_file=key, password_file=password))


def _secrets(data: Any) -> Iterator[tuple[str, str]]:
    """Where a document names keys and password files, whether the rest of it is right or not."""
    if not isinstance(data, dict):
        return
    nodes = data.get("nodes")
    places: list[tuple[str, Any]] = [("defaults", data.get("defaults"))]
    places += [(f"nodes[{index}]", node) for index, node in enumerate(nodes if isinstance(nodes, list) else [])]
    for place, mapping in places:
        for key in _SECRETS if isinstance(mapping, dict) else ():
            if isinstance(text := mapping.get(key), str) and text.isprintable() and text:
                yield f"{place}.{key}", text


def _lists(data: Any) -> Iterator[tuple[str, str]]:
    text = data.get("nodesFile") if isinstance(data, dict) else None
    if isinstance(text, str) and text.isprintable() and text:
        yield "nodesFile", text


def _of_secret(text: str, path_of: Callable[[str], Path]) -> tuple[str, str] | None:
    try:
        path = path_of(text)
        found = path.stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"{text} cannot be read: {why}", "it is a file on the server"
    if not stat.S_ISREG(found.st_mode):
        return f"{text} is no file", "it is a file on the server"
    if not os.access(path, os.R_OK):
        return f"{text} cannot be read by the server", "let the account that runs the server own it"
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"others may read {text}", f"chmod 600 {path}"
    return None if found.st_size else (f"{text} is empty", "")
