"""The folder `clusters.d`: virtual clusters and labels of nodes, one or several documents a file. All that is wrong is
told at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.domain.virtual_clusters import VirtualCluster
from muster.wire.cluster_schema import read_nodes, read_virtual_cluster
from muster.wire.documents import Document, read_documents

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """All that the folder says, in order of file and place."""

    virtual: tuple[VirtualCluster, ...] = ()
    nodes: tuple[NodeSettings, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """`physical` are the clusters that there are, the default first."""

    path: Path
    physical: tuple[str, ...]

    def read(self) -> ClusterSettings:
        """Raises Invalid with every problem of every file."""
        problems: list[Problem] = []
        virtual: list[_Found] = []
        nodes: list[NodeSettings] = []
        for file in self._files(problems):
            for document in _documents(file, problems):
                try:
                    match _kind(document):
                        case "backend":
                            raise _physical(document)
                        case "nodes":
                            found = read_nodes(document, self.physical[0])
                            nodes += [replace(node, file=file.name) for node in found]
                            problems += self._stray(document.data.get("cluster"), file.name, document)
                        case _:
                            cluster = read_virtual_cluster(document, self.physical[0])
                            virtual.append(_Found(file.name, document, cluster))
                except Invalid as error:
                    problems += [replace(problem, file=file.name) for problem in error.problems]
        problems += [*self._clashes(virtual), *self._clashing_nodes(nodes)]
        if problems:
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise Invalid(f"the settings in {self.path} have {count}", problems=tuple(problems))
        return ClusterSettings(tuple(one.cluster for one in virtual), tuple(nodes))

    def _files(self, problems: list[Problem]) -> list[Path]:
        """Hidden ones are what editors leave beside a file."""
        try:
            files = sorted(self.path.iterdir())
        except OSError as error:
            problems.append(Problem("", f"cannot be read: {error.strerror}", file=str(self.path)))
            return []
        return [file for file in files if file.suffix in _SUFFIXES and not file.name.startswith(".")]

    def _clashes(self, found: list["_Found"]) -> Iterator[Problem]:
        """What each document by itself cannot see."""
        first: dict[str, _Found] = {}
        for one in found:
            name, physical = one.cluster.name, one.cluster.cluster
            yield from self._stray(physical, one.file, one.document)
            if name in self.physical:
                yield one.problem("name", f"{name} is the name of a physical cluster", "choose another")
            elif name in first:
                earlier = first[name]
                yield one.problem("name", f"{name} is given twice", f"also in {earlier.file}, line {earlier.line}")
            first.setdefault(name, one)

    def _clashing_nodes(self, nodes: list[NodeSettings]) -> Iterator[Problem]:
        first: dict[tuple[str, str], NodeSettings] = {}
        for node in nodes:
            earlier = first.setdefault((node.cluster, node.name), node)
            if earlier is not node:
                hint = f"also in {earlier.file}, line {earlier.line}"
                yield Problem("nodes", f"{node.name} is given twice", hint, node.line, node.file)

    def _stray(self, cluster: str | None, file: str, document: Document) -> Iterator[Problem]:
        if cluster and cluster not in self.physical:
            known = f"known clusters: {', '.join(self.physical)}"
            yield Problem("cluster", f"there is no cluster {cluster!r}", known, document.line("cluster"), file)


@dataclass(frozen=True, slots=True)
class _Found:
    file: str
    document: Document
    cluster: VirtualCluster

    @property
    def line(self) -> int | None:
        return self.document.line("name")

    def problem(self, path: str, message: str, hint: str) -> Problem:
        return Problem(path, message, hint, self.document.line(path), self.file)


def _documents(file: Path, problems: list[Problem]) -> list[Document]:
    """Those that are not empty."""
    try:
        return [document for document in read_documents(file.read_text(encoding="utf-8")) if document.data is not None]
    except OSError as error:
        problems.append(Problem("", f"cannot be read: {error.strerror}", file=file.name))
    except UnicodeDecodeError:
        problems.append(Problem("", "is no UTF-8 text", file=file.name))
    except Invalid as error:
        told = error.problems or (Problem("", error.message),)
        problems += [replace(problem, file=file.name) for problem in told]
    return []


def _kind(document: Document) -> str:
    """What a document is shows in its keys: a physical cluster has a backend, and what has nodes describes them."""
    keys = document.data if isinstance(document.data, dict) else {}
    return next((kind for kind in ("backend", "nodes") if kind in keys), "virtual cluster")


def _physical(document: Document) -> Invalid:
    message = "physical clusters other than local are not configured here yet"
    hint = "leave `backend` out to describe a virtual cluster, or the nodes of local"
    return Invalid("", problems=(Problem("backend", message, hint, document.line("backend")),))
