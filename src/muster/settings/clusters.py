"""The folder `clusters.d`: virtual clusters, one or several documents a file. All that is wrong is told at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from muster.domain.errors import Invalid, Problem
from muster.domain.virtual_clusters import VirtualCluster
from muster.wire.cluster_schema import read_virtual_cluster
from muster.wire.documents import Document, read_documents

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """`physical` are the clusters that there are, the default first."""

    path: Path
    physical: tuple[str, ...]

    def read(self) -> tuple[VirtualCluster, ...]:
        """In order of file and place. Raises Invalid with every problem of every file."""
        problems: list[Problem] = []
        found: list[_Found] = []
        for file in self._files(problems):
            for document in _documents(file, problems):
                try:
                    found.append(_Found(file.name, document, _kind(document)(document, self.physical[0])))
                except Invalid as error:
                    problems += [replace(problem, file=file.name) for problem in error.problems]
        problems += self._clashes(found)
        if problems:
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise Invalid(f"the virtual clusters in {self.path} have {count}", problems=tuple(problems))
        return tuple(one.cluster for one in found)

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
            if physical not in self.physical:
                known = f"known clusters: {', '.join(self.physical)}"
                yield one.problem("cluster", f"there is no cluster {physical!r}", known)
            if name in self.physical:
                yield one.problem("name", f"{name} is the name of a physical cluster", "choose another")
            elif name in first:
                earlier = first[name]
                yield one.problem("name", f"{name} is given twice", f"also in {earlier.file}, line {earlier.line}")
            first.setdefault(name, one)


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


def _kind(document: Document) -> Callable[[Document, str], VirtualCluster]:
    """What a document is shows in its keys: a physical cluster has a backend."""
    is_physical = isinstance(document.data, dict) and "backend" in document.data
    return _refuse_physical if is_physical else read_virtual_cluster


def _refuse_physical(document: Document, _: str) -> VirtualCluster:
    message = "physical clusters other than local are not configured here yet"
    hint = "leave `backend` out to describe a virtual cluster"
    raise Invalid("", problems=(Problem("backend", message, hint, document.line("backend")),))
