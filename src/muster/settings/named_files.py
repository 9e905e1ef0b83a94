"""The files that documents of `clusters.d` name: node lists are read, and the permissions of secrets are checked.

The contents of keys and password files are not read here.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster.domain.clusters import ClusterNode
from muster.domain.errors import Invalid, Problem
from muster.settings.cluster_files import Files, Unreadable
from muster.settings.cluster_kinds import ClusterKinds, NodeListing
from muster.wire.documents import Document

_ABSENT = Unreadable(f"cannot be read: {os.strerror(errno.ENOENT)}")


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Resolves the files that the documents of the folder name."""

    folder: Path
    files: Files
    kinds: ClusterKinds
    own: str = ""
    """The folder of the cluster whose file names them, if it has one. Relative paths start there."""

    def of(self, own: str) -> "NamedFiles":
        return replace(self, own=own)

    def path(self, text: str) -> Path:
        """Resolve a path; relative paths start in the folder. Raises ValueError for the home of an unknown user."""
        try:
            return self.folder / self.own / Path(text).expanduser()
        except RuntimeError:
            raise ValueError("there is no such home") from None

    def beside(self, document: Document) -> Iterator[Path]:
        """Yield the files that the document depends on. This never raises, even if the document is invalid."""
        for listing in self.kinds.listings():
            for _, text in (*listing.secrets(document.data), *listing.lists(document.data)):
                with suppress(ValueError):
                    yield self.path(text)

    def lists(self, document: Document) -> Iterator[Path]:
        """Yield the node lists that the document names. This never raises either."""
        for listing in self.kinds.listings():
            for _, text in listing.lists(document.data):
                with suppress(ValueError):
                    yield self.path(text)

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)

    def secret_problems(self, listing: NodeListing, document: Document) -> Iterator[Problem]:
        """Check that keys and password files exist and that other users cannot read them, as ssh requires."""
        for place, text in listing.secrets(document.data):
            if wrong := _secret_problem(text, self.path):
                message, hint = wrong
                yield Problem(place, message, hint, document.line(place))

    def listed(self, listing: NodeListing, model: Any, document: Document) -> Iterator[ClusterNode]:
        """Yield the nodes of the lists that a cluster's document names. Raises Invalid."""
        for place, text in listing.lists(document.data):
            yield from self._listed(listing, model, document, place, text)

    def placed(self, listing: NodeListing, nodes: Iterable[ClusterNode], file: str) -> list[ClusterNode]:
        """Return the nodes with the file that defines them and with absolute paths of the files that they name."""
        return [listing.placed(node, node.file or file, self.path) for node in nodes]

    def _listed(
        self, listing: NodeListing, model: Any, document: Document, place: str, text: str
    ) -> Iterable[ClusterNode]:
        try:
            name = self.name(self.path(text))
            found = self.files.get(name, _ABSENT)
        except ValueError as error:
            found = Unreadable(f"cannot be read: {error}")
        if isinstance(found, Unreadable):
            problem = Problem(place, f"{text} {found.message}", found.hint, document.line(place))
            raise Invalid("", problems=(problem,))
        try:
            return self.placed(listing, listing.list_nodes(found.text, model), name)
        except Invalid as error:
            raise Invalid("", problems=tuple(replace(problem, file=name) for problem in error.problems)) from None


def _secret_problem(text: str, path_of: Callable[[str], Path]) -> tuple[str, str] | None:
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
