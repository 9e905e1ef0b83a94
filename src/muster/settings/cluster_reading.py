"""Combines all documents of `clusters.d`, which may refer to each other in any order, into one set of settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.domain.clusters import Member, PhysicalCluster
from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.domain.virtual_clusters import VirtualCluster
from muster.settings.physical import NamedFiles
from muster.wire.cluster_schema import read_nodes, read_virtual_cluster
from muster.wire.documents import Document
from muster.wire.physical_clusters import LOCAL, Described, physical_name, read_members, read_physical
from muster.wire.physical_schema import LoginIn


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """All settings of the folder, in the order of files and of their contents."""

    virtual: tuple[VirtualCluster, ...] = ()
    nodes: tuple[NodeSettings, ...] = ()
    physical: tuple[PhysicalCluster, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    document: Document
    was_in_force: bool = False

    @property
    def file(self) -> str:
        return self.path.name

    @property
    def line(self) -> int | None:
        return self.document.line("name")

    @property
    def kind(self) -> str:
        """A document with `backend` is a physical cluster, one with `nodes` describes nodes, all others are virtual."""
        keys = self.document.data if isinstance(self.document.data, dict) else {}
        return next((kind for kind in ("backend", "nodes") if kind in keys), "virtual cluster")

    @property
    def also(self) -> str:
        return f"also in {self.file}, line {self.line}" if self.line else f"also in {self.file}"

    def problem(self, path: str, message: str, hint: str) -> Problem:
        return Problem(path, message, hint, self.document.line(path), self.file)


@dataclass(slots=True)
class Reading:
    """Reads all documents: first the physical clusters, because all other documents may refer to them."""

    given: tuple[str, ...]
    files: NamedFiles
    problems: list[Problem] = field(default_factory=list)
    _defined: dict[str, Found] = field(default_factory=dict)
    """Physical clusters by name, valid or not."""
    _described: dict[str, Described] = field(default_factory=dict)
    _members: list[tuple[str, Member]] = field(default_factory=list)
    _virtual: list[tuple[Found, VirtualCluster]] = field(default_factory=list)
    _nodes: list[NodeSettings] = field(default_factory=list)

    def take_all(self, documents: list[Found]) -> None:
        for found in documents:
            if found.kind == "backend":
                self._collect_problems(found, self._take_physical)
        for found in documents:
            if found.kind == "nodes":
                self._collect_problems(found, self._take_nodes)
            elif found.kind == "virtual cluster":
                self._collect_problems(found, self._take_virtual)

    def result(self, folder: Path) -> ClusterSettings:
        """Raises Invalid."""
        self.problems += [*self._clashing_virtual(), *self._clashing_labels(), *self._clashing_members()]
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            by_file = sorted(self.problems, key=lambda problem: problem.file)
            raise Invalid(f"the settings in {folder} have {count}", problems=tuple(by_file))
        physical = tuple(
            replace(described.cluster, members=tuple(member for cluster, member in self._members if cluster == name))
            for name, described in self._described.items()
        )
        return ClusterSettings(tuple(vc for _, vc in self._virtual), tuple(self._nodes), physical)

    def _collect_problems(self, found: Found, take: Callable[[Found], None]) -> None:
        try:
            take(found)
        except Invalid as error:
            self.problems += [replace(problem, file=problem.file or found.file) for problem in error.problems]

    def _take_physical(self, found: Found) -> None:
        document, name = found.document, physical_name(found.document, found.path.stem)
        earlier = self._defined.setdefault(name, found)
        if earlier is not found:
            self.problems.append(found.problem("name", f"{name} is given twice", earlier.also))
        elif name in self.given and document.data["backend"] != LOCAL:
            self.problems.append(found.problem("name", f"{name} is a built-in cluster", "choose another name"))
        elif document.data["backend"] == LOCAL and LOCAL not in self.given:
            self.problems.append(found.problem("backend", f"this server has no cluster {LOCAL}", "remove the file"))
        described = read_physical(document, found.path.stem)
        self._refuse_open_secrets(found)
        self._described[name] = replace(described, cluster=replace(described.cluster, file=found.file))
        self._add(name, described.cluster.members, found)
        self._add(name, self.files.listed(described, document), found)

    def _take_nodes(self, found: Found) -> None:
        cluster = found.document.data.get("cluster") or self.given[0]
        definition = self._defined.get(cluster) if isinstance(cluster, str) else None
        if definition is None or definition.document.data["backend"] == LOCAL:
            if stray := tuple(self._stray(found.document.data.get("cluster"), found)):
                raise Invalid("", problems=stray)  # without its cluster, the nodes cannot be checked
            labelled: Iterable[NodeSettings] = read_nodes(found.document, self.given[0])
        else:
            described = self._described.get(cluster) or Described(PhysicalCluster(cluster, "ssh"), LoginIn())
            members, labelled = read_members(found.document, described)
            self._refuse_open_secrets(found)
            self._add(cluster, members, found)
        self._nodes += [replace(node, file=found.file) for node in labelled]

    def _take_virtual(self, found: Found) -> None:
        self._virtual.append((found, read_virtual_cluster(found.document, self.given[0])))

    def _add(self, cluster: str, members: Iterable[Member], found: Found) -> None:
        resolved = self.files.resolved(members)
        self._members += [(cluster, replace(member, file=member.file or found.file)) for member in resolved]

    def _refuse_open_secrets(self, found: Found) -> None:
        if found.was_in_force:
            return
        if problems := tuple(self.files.secret_problems(found.document)):
            raise Invalid("", problems=problems)

    def _clashing_virtual(self) -> Iterator[Problem]:
        """Problems that show only when documents are compared with each other."""
        first: dict[str, Found] = {}
        for found, vc in self._virtual:
            yield from self._stray(vc.cluster, found)
            if vc.name in self._known:
                yield found.problem("name", f"{vc.name} is the name of a physical cluster", "choose another name")
            elif vc.name in first:
                yield found.problem("name", f"{vc.name} is given twice", first[vc.name].also)
            first.setdefault(vc.name, found)

    def _clashing_labels(self) -> Iterator[Problem]:
        first: dict[tuple[str, str], NodeSettings] = {}
        for node in self._nodes:
            earlier = first.setdefault((node.cluster, node.name), node)
            if earlier is not node:
                yield _twice(node, earlier)

    def _clashing_members(self) -> Iterator[Problem]:
        first: dict[tuple[str, str], Member] = {}
        for cluster, member in self._members:
            earlier = first.setdefault((cluster, member.name), member)
            if earlier is not member:
                yield _twice(member, earlier)

    def _stray(self, cluster: str | None, found: Found) -> Iterator[Problem]:
        if cluster and cluster not in self._known:
            yield found.problem(
                "cluster", f"there is no cluster {cluster!r}", f"known clusters: {', '.join(self._known)}"
            )

    @property
    def _known(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.given, *self._defined)))


def _twice(node: NodeSettings | Member, earlier: NodeSettings | Member) -> Problem:
    place = f"{earlier.file}, line {earlier.line}" if earlier.line else earlier.file
    return Problem("nodes", f"{node.name} is given twice", f"also in {place}", node.line, node.file)
