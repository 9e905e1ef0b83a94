"""The folder `clusters.d`: physical clusters, their nodes, virtual clusters and labels of nodes.

A file has one or several documents. A cluster may also have a folder of its own there, with its file `cluster.yaml`.
All problems are reported at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from muster.domain.errors import Invalid, Problem
from muster.ports.cluster_config import ClusterSettings
from muster.settings.cluster_files import OWN_FILES, Files, Text, Unreadable, is_document, read_file
from muster.settings.cluster_kinds import ClusterKinds
from muster.settings.cluster_reading import Found, Reading
from muster.settings.named_files import NamedFiles
from muster.wire.documents import Document, read_documents

Parse = Callable[[str], list[Document]]


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """The folder of the cluster files.

    `physical` names the clusters that exist without a file, with the default first. `kinds` are the backends that
    documents may name.
    """

    path: Path
    physical: tuple[str, ...]
    kinds: ClusterKinds

    def read(self) -> ClusterSettings:
        """Return the settings in the files. Raises Invalid with every problem of every file."""
        return self.said(self.files())

    def files(self, before: Files | None = None) -> dict[str, Text | Unreadable]:
        """Read the documents and the node lists that they name now or named `before`.

        Raises Invalid if the folder itself cannot be read.
        """
        found = {name: read_file(self.path / name) for name in self._names()}
        for name in {*self.lists(before or {}), *self.lists(found)}:
            found.setdefault(name, read_file(self.path / name))
        return found

    def lists(self, files: Files, parse: Parse = read_documents) -> frozenset[str]:
        """Return the names of the node lists that the documents name, whether the documents are valid or not."""
        named = NamedFiles(self.path, files, self.kinds)
        return frozenset(
            named.name(path)
            for found in self._documents(files, parse)
            for path in named.of(found.folder).lists(found.document)
        )

    def said(self, files: Files, parse: Parse = read_documents) -> ClusterSettings:
        """Return the settings that these files would give. Raises Invalid with every problem."""
        reading = Reading(self.physical, NamedFiles(self.path, files, self.kinds))
        reading.take_all(list(self._documents(files, parse, reading.problems.append)))
        return reading.result(self.path)

    def files_beside(self) -> frozenset[Path]:
        """Return all other files that the settings depend on: node lists, keys, password files and targets of links.

        Those of invalid documents are included, because a change of one of them may fix the problem.
        """
        try:
            names = self._names()
        except Invalid:
            return frozenset()
        named = NamedFiles(self.path, {}, self.kinds)
        texts = {name: read_file(self.path / name) for name in names}
        linked = (self.path / name for name in names if (self.path / name).is_symlink())
        own = (self.path / name / file for name in self._folders() for file in OWN_FILES)
        named_ones = (
            path for found in self._documents(texts) for path in named.of(found.folder).beside(found.document)
        )
        return frozenset((*linked, *own, *named_ones))

    def _names(self) -> list[str]:
        try:
            own = (f"{name}/{file}" for name in self._folders() for file in OWN_FILES)
            in_folders = [name for name in own if (self.path / name).exists()]
            return sorted([*in_folders, *(file.name for file in self.path.iterdir() if is_document(file.name))])
        except OSError as error:
            problem = Problem("", f"cannot be read: {error.strerror}", file=str(self.path))
            raise Invalid(f"the settings in {self.path} cannot be read", problems=(problem,)) from None

    def _folders(self) -> list[str]:
        """The folders in which a cluster may have its file. Others hold keys, node lists or drafts."""
        return [one.name for one in self.path.iterdir() if one.is_dir() and not one.name.startswith(".")]

    def _documents(
        self, files: Files, parse: Parse = read_documents, tell: Callable[[Problem], None] = lambda problem: None
    ) -> Iterator[Found]:
        """Yield the documents that are not empty, in the order of their files."""
        for name in sorted(filter(is_document, files)):
            match files[name]:
                case Unreadable(message, hint):
                    tell(Problem("", message, hint, file=name))
                case Text(text, was_in_force):
                    for document in _parsed(name, text, parse, tell):
                        yield Found(name, document, was_in_force)


def _parsed(name: str, text: str, parse: Parse, tell: Callable[[Problem], None]) -> list[Document]:
    try:
        return [document for document in parse(text) if document.data is not None]
    except Invalid as error:
        for problem in error.problems or (Problem("", error.message),):
            tell(replace(problem if problem.path else _of_syntax(problem), file=name))
        return []


def _of_syntax(problem: Problem) -> Problem:
    if problem.line is None:
        return problem
    hint = problem.hint or "look at brackets, quotes, colons and indents up to there"
    return replace(problem, message=f"is no YAML: {problem.message}", hint=hint)
