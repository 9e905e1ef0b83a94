"""Combines all documents of `clusters.d`, which may refer to each other in any order, into one set of settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.domain.clusters import ClusterNode
from muster.domain.errors import Invalid, Problem
from muster.domain.jobs import ELSEWHERE
from muster.domain.nodes import NodeSettings
from muster.domain.virtual_clusters import VirtualCluster
from muster.ports.cluster_config import ClusterSettings
from muster.settings.cluster_kinds import Described, NodeListing
from muster.settings.named_files import NamedFiles
from muster.wire.cluster_schema import VIRTUAL_KEYS, read_nodes, read_virtual_cluster
from muster.wire.documents import Document

_NO_CLUSTER = f"{ELSEWHERE} stands for programs outside of Muster that report to it"


@dataclass(frozen=True, slots=True)
class Found:
    file: str
    """Its name, relative to the folder of the cluster files."""
    document: Document
    was_in_force: bool = False

    @property
    def folder(self) -> str:
        """The cluster's own folder, if it has one."""
        return self.file.rpartition("/")[0]

    @property
    def default_name(self) -> str:
        return self.folder or Path(self.file).stem

    @property
    def named(self) -> Document:
        """The document with the name of its folder, if it has one and says no other."""
        data = self.document.data
        if not self.folder or not isinstance(data, dict) or "name" in data:
            return self.document
        return replace(self.document, data={"name": self.folder, **data})

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
    _listed: list[tuple[str, ClusterNode]] = field(default_factory=list)
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
        self.problems += [*self._clashing_virtual(), *self._clashing_labels(), *self._clashing_nodes()]
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            by_file = sorted(self.problems, key=lambda problem: problem.file)
            raise Invalid(f"the settings in {folder} have {count}", problems=tuple(by_file))
        physical = tuple(
            replace(described.cluster, nodes=tuple(node for cluster, node in self._listed if cluster == name))
            for name, described in self._described.items()
        )
        return ClusterSettings(tuple(vc for _, vc in self._virtual), tuple(self._nodes), physical)

    def _collect_problems(self, found: Found, take: Callable[[Found], None]) -> None:
        try:
            take(found)
        except Invalid as error:
            self.problems += [replace(problem, file=problem.file or found.file) for problem in error.problems]

    def _take_physical(self, found: Found) -> None:
        document, kinds = found.document, self.files.kinds
        name = kinds.cluster_name(document, found.default_name)
        earlier = self._defined.setdefault(name, found)
        kind = kinds.kind_of(document)
        if earlier is not found:
            self.problems.append(found.problem("name", f"{name} is given twice", earlier.also))
        elif name == ELSEWHERE:
            self.problems.append(found.problem("name", _NO_CLUSTER, "choose another name"))
        elif name in self.given and kind.own_cluster is None:
            self.problems.append(found.problem("name", f"{name} is a built-in cluster", "choose another name"))
        elif kind.own_cluster is not None and kind.own_cluster not in self.given:
            message = f"this server has no cluster {kind.own_cluster}"
            self.problems.append(found.problem("backend", message, "remove the file"))
        described = kinds.described(document, found.default_name)
        if kind.listing is not None:
            self._refuse_open_secrets(found, kind.listing)
        self._described[name] = replace(described, cluster=replace(described.cluster, file=found.file))
        if kind.listing is not None:
            own = kind.listing.nodes(described.model, document)
            self._add(name, self.files.of(found.folder).placed(kind.listing, own, found.file))
            self._add(name, self.files.of(found.folder).listed(kind.listing, described.model, document))

    def _take_nodes(self, found: Found) -> None:
        document = found.document
        cluster = document.data.get("cluster") or self._default(found)
        if stray := tuple(self._stray(document.data.get("cluster"), found)):
            raise Invalid("", problems=stray)  # without its cluster, the nodes cannot be checked
        definition = self._defined.get(cluster) if isinstance(cluster, str) else None
        kind = None if definition is None else self.files.kinds.find(definition.document)
        if definition is not None and kind is None:
            return  # its cluster is refused, because nothing here knows its backend
        if kind is None or kind.listing is None:
            labelled: Iterable[NodeSettings] = read_nodes(document, cluster)
        else:
            described = self._described.get(cluster)
            nodes, labelled = kind.listing.further_nodes(document, cluster, described.model if described else None)
            self._refuse_open_secrets(found, kind.listing)
            self._add(cluster, self.files.of(found.folder).placed(kind.listing, nodes, found.file))
        self._nodes += [replace(node, file=found.file) for node in labelled]

    def _take_virtual(self, found: Found) -> None:
        if problem := self._without_backend(found):
            raise Invalid("", problems=(problem,))
        data = found.document.data
        named = data.get("cluster") if isinstance(data, dict) else None
        problems = list(self._stray(named if isinstance(named, str) else None, found))
        physical = self.given[0]
        try:
            physical = self._default(found)
        except Invalid as error:
            problems += error.problems
        try:
            self._virtual.append((found, read_virtual_cluster(found.named, physical)))
        except Invalid as error:
            problems += error.problems
        if problems:
            raise Invalid("", problems=tuple(problems))

    def _without_backend(self, found: Found) -> Problem | None:
        """A physical cluster that does not say its backend is not taken for a virtual one, which has a name, or a
        folder of its own and the `cluster` that it is part of."""
        data = found.document.data
        if not isinstance(data, dict) or "name" in data or ("cluster" in data and VIRTUAL_KEYS.issuperset(data)):
            return None
        kinds = [kind for kind in self.files.kinds.kinds if data and all(key in kind.keys for key in data)]
        if not kinds:
            return None
        own = next((kind for kind in kinds if kind.own_cluster == found.default_name), None)
        names = [own.name] if own else [kind.name for kind in kinds]
        return found.problem("backend", "is missing", f"add {' or '.join(f'`backend: {name}`' for name in names)}")

    def _default(self, found: Found) -> str:
        """The physical cluster of a document that names none: the server's own machine, or if that is switched off, the
        only other cluster. Raises Invalid if the document has to name one."""
        default = self.given[0]
        own = self._described.get(default)
        data = found.document.data
        if own is None or own.cluster.is_enabled or (isinstance(data, dict) and data.get("cluster")):
            return default
        others = [name for name in self._known if name != default]
        if len(others) == 1:
            return others[0]
        known = f"name one of {', '.join(others)}" if others else "add a cluster and name it here"
        hint = f"{known}, or remove `enabled: false` from {own.cluster.file}"
        raise Invalid("", problems=(found.problem("cluster", f"is missing, and {default} is switched off", hint),))

    def _add(self, cluster: str, nodes: Iterable[ClusterNode]) -> None:
        self._listed += [(cluster, node) for node in nodes]

    def _refuse_open_secrets(self, found: Found, listing: NodeListing) -> None:
        if found.was_in_force:
            return
        if problems := tuple(self.files.of(found.folder).secret_problems(listing, found.document)):
            raise Invalid("", problems=problems)

    def _clashing_virtual(self) -> Iterator[Problem]:
        """Problems that show only when documents are compared with each other."""
        first: dict[str, Found] = {}
        for found, vc in self._virtual:
            if vc.name in self._known:
                yield found.problem("name", f"{vc.name} is the name of a physical cluster", "choose another name")
            elif vc.name == ELSEWHERE:
                yield found.problem("name", _NO_CLUSTER, "choose another name")
            elif vc.name in first:
                yield found.problem("name", f"{vc.name} is given twice", first[vc.name].also)
            first.setdefault(vc.name, found)

    def _clashing_labels(self) -> Iterator[Problem]:
        first: dict[tuple[str, str], NodeSettings] = {}
        for node in self._nodes:
            earlier = first.setdefault((node.cluster, node.name), node)
            if earlier is not node:
                yield _twice(node, earlier)

    def _clashing_nodes(self) -> Iterator[Problem]:
        first: dict[tuple[str, str], ClusterNode] = {}
        for cluster, node in self._listed:
            earlier = first.setdefault((cluster, node.name), node)
            if earlier is not node:
                yield _twice(node, earlier)

    def _stray(self, cluster: str | None, found: Found) -> Iterator[Problem]:
        if cluster and cluster not in self._known:
            yield found.problem(
                "cluster", f"there is no cluster {cluster!r}", f"known clusters: {', '.join(self._known)}"
            )

    @property
    def _known(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.given, *self._defined)))


def _twice(node: NodeSettings | ClusterNode, earlier: NodeSettings | ClusterNode) -> Problem:
    place = f"{earlier.file}, line {earlier.line}" if earlier.line else earlier.file
    return Problem("nodes", f"{node.name} is given twice", f"also in {place}", node.line, node.file)
