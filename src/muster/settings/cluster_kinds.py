"""How clusters of each backend are written: a backend describes its documents by a `ClusterKind`, and reading, checking
and writing cluster files know backends by their kinds alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from muster.domain.clusters import ClusterNode, PhysicalCluster
from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.lib.nearest import nearest
from muster.wire.cluster_problems import Parts, located
from muster.wire.documents import Document
from muster.wire.physical_clusters import shared_part, shared_problems, validated
from muster.wire.physical_schema import SharedIn, is_name

NamedPath = tuple[str, str]
"""Where in a document a file is named, and how: `defaults.keyFile`, `lab.key`."""


class NodeListing(Protocol):
    """How nodes are listed in the files of a cluster, for backends whose nodes are. `model` is the validated document
    of the cluster, and None where that document is wrong. What raises Invalid raises it with every problem."""

    def nodes(self, model: Any, document: Document) -> Iterable[ClusterNode]:
        """The nodes in the cluster's own document. Raises Invalid."""

    def further_nodes(
        self, document: Document, cluster: str, model: Any | None
    ) -> tuple[Iterable[ClusterNode], Iterable[NodeSettings]]:
        """The nodes in another document with `nodes`, and the labels that it has for nodes of elsewhere. Raises
        Invalid."""

    def list_nodes(self, text: str, model: Any | None) -> Iterable[ClusterNode]:
        """The nodes in the text of a list that a document names. Raises Invalid."""

    def lists(self, data: Any) -> Iterable[NamedPath]:
        """The lists of nodes that a document names. Never raises, whatever the document is."""

    def secrets(self, data: Any) -> Iterable[NamedPath]:
        """The keys and password files that a document names. Never raises either."""

    def placed(self, node: ClusterNode, file: str, path_of: Callable[[str], Path]) -> ClusterNode:
        """The node with the whole paths of the files that it names, and with the file that lists it."""

    def entry(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A node that is added by command, as a document lists it: from the body of the request, without the password.
        Raises Invalid."""


def _as_it_is(cluster: PhysicalCluster, model: Any) -> PhysicalCluster:
    return cluster


def _no_problems(model: Any) -> Iterable[Problem]:
    return ()


@dataclass(frozen=True, slots=True)
class ClusterKind:
    name: str
    """What documents write as `backend`."""
    schema: type[SharedIn] = SharedIn
    parts: Parts = field(default_factory=dict)
    """Which models stand under which keys, so that a mistake is answered with the keys there are."""
    complete: Callable[[PhysicalCluster, Any], PhysicalCluster] = _as_it_is
    """Adds what only the backend understands: takes the part that all clusters have, and the model."""
    problems: Callable[[Any], Iterable[Problem]] = _no_problems
    """What the schema alone cannot see."""
    listing: NodeListing | None = None
    """Absent where the backend finds its nodes itself."""
    own_cluster: str | None = None
    """The name of the only cluster of this kind, which is the server's own machine and needs no file."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(field.alias or name for name, field in self.schema.model_fields.items())


@dataclass(frozen=True, slots=True)
class Described:
    """A cluster as its own document says it, without nodes."""

    cluster: PhysicalCluster
    model: SharedIn


@dataclass(frozen=True, slots=True)
class ClusterKinds:
    """All kinds that a server knows."""

    kinds: tuple[ClusterKind, ...]

    def kind_of(self, document: Document) -> ClusterKind:
        """Raises Invalid for a backend that is not known."""
        kind = self.find(document)
        if kind is None:
            raise located(document, self._unknown(document.data["backend"]))
        return kind

    def find(self, document: Document) -> ClusterKind | None:
        return next((kind for kind in self.kinds if kind.name == document.data["backend"]), None)

    def cluster_name(self, document: Document, stem: str) -> str:
        """What the cluster is called, known before the rest of the document is read."""
        name, kind = document.data.get("name"), self.find(document)
        return name if isinstance(name, str) else (kind.own_cluster if kind else None) or stem

    def described(self, document: Document, stem: str) -> Described:
        """Raises Invalid with every problem, each with its path and line. `stem` is the name if none is given."""
        kind = self.kind_of(document)
        try:
            model = validated(document, kind.schema, kind.parts)
        except Invalid as error:
            problems = tuple(self._of_another_kind(problem, kind) for problem in error.problems)
            raise Invalid("", problems=problems) from None
        name = self.cluster_name(document, stem)
        wrong = [*_name_problems(model, kind, name, stem), *shared_problems(model), *kind.problems(model)]
        if wrong:
            raise located(document, *wrong)
        return Described(kind.complete(shared_part(model, name, document), model), model)

    def listings(self) -> Iterator[NodeListing]:
        return (kind.listing for kind in self.kinds if kind.listing is not None)

    def named(self, backend: str) -> ClusterKind:
        """The kind of a cluster that was read."""
        return next(kind for kind in self.kinds if kind.name == backend)

    def kind_with_listing(self) -> ClusterKind:
        """The kind of a cluster that is made because a node is added to it."""
        return next(kind for kind in self.kinds if kind.listing is not None)

    def _unknown(self, backend: object) -> Problem:
        names = sorted(kind.name for kind in self.kinds)
        guess = nearest(backend, names) if isinstance(backend, str) else None
        hint = f"did you mean {guess}?" if guess else f"known backends: {', '.join(names)}"
        return Problem("backend", f"there is no backend {backend!r}", hint)

    def _of_another_kind(self, problem: Problem, kind: ClusterKind) -> Problem:
        """A key that is right elsewhere is not a typing mistake."""
        others = [other.name for other in self.kinds if other is not kind and problem.path in other.keys]
        if problem.message != "unknown key" or not others:
            return problem
        hint = f"{kind.own_cluster} is the server's own machine" if kind.own_cluster else f"this one is {kind.name}"
        return replace(problem, message=f"is for clusters with backend: {' or '.join(others)}", hint=hint)


def _name_problems(model: SharedIn, kind: ClusterKind, name: str, stem: str) -> Iterator[Problem]:
    own = kind.own_cluster
    if own is not None and name != own:
        yield Problem("name", f"is {name!r}", f"the server's own machine is the cluster {own}: leave the name out")
    elif model.name is None and own is None and not is_name(stem):
        yield Problem("", f"the file's name {stem!r} is not a valid name of a cluster", "give it a `name`")
