"""SSH clusters as a kind of cluster that files may describe."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.backends.logins.cluster_file import LoginIn, split_endpoint
from muster.backends.ssh.cluster_file.nodes import (
    further_nodes,
    named_lists,
    named_secrets,
    nameless,
    own_nodes,
    with_whole_paths,
)
from muster.backends.ssh.cluster_file.schema import PARTS, SshIn, time_problems
from muster.backends.ssh.cluster_file.slaver_list import read_slaver_list
from muster.backends.ssh.options import SshNode, SshOptions
from muster.domain.clusters import ClusterNode, PhysicalCluster
from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.settings.cluster_kinds import ClusterKind, NamedPath
from muster.wire.documents import Document
from muster.wire.physical_clusters import isolation_of, script_problems, scripts_of
from muster.wire.physical_schema import device_files


class SshListing:
    """Implements `settings.cluster_kinds.NodeListing`."""

    def nodes(self, model: SshIn, document: Document) -> list[SshNode]:
        return own_nodes(model, document)

    def further_nodes(
        self, document: Document, cluster: str, model: SshIn | None
    ) -> tuple[list[SshNode], list[NodeSettings]]:
        return further_nodes(document, cluster, _defaults(model))

    def list_nodes(self, text: str, model: SshIn | None) -> list[SshNode]:
        return read_slaver_list(text, _defaults(model))

    def lists(self, data: Any) -> Iterator[NamedPath]:
        return named_lists(data)

    def secrets(self, data: Any) -> Iterator[NamedPath]:
        return named_secrets(data)

    def placed(self, node: ClusterNode, file: str, path_of: Callable[[str], Path]) -> SshNode:
        assert isinstance(node, SshNode)
        return replace(with_whole_paths(node, path_of), file=file)

    def entry(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """`ssh` is `[user@]host[:port]`; all else is called as in a document."""
        ssh = request["ssh"]
        try:
            endpoint = split_endpoint(ssh)
        except ValueError as error:
            problem = Problem("ssh", f"{ssh!r} cannot be read", str(error))
            raise Invalid("the node cannot be added", problems=(problem,)) from None
        rest = {key: value for key, value in request.items() if key not in ("ssh", "name")}
        return {"name": request["name"], **endpoint, **rest}


def _defaults(model: SshIn | None) -> LoginIn:
    return LoginIn() if model is None else model.defaults


def _complete(cluster: PhysicalCluster, model: SshIn) -> PhysicalCluster:
    options = SshOptions(model.unreachable_after)
    return replace(
        cluster,
        lost_after_s=model.lost_after,
        options=options,
        isolation=isolation_of(model),
        scripts=scripts_of(model),
        setup_cache=model.setup_cache.cache(),
        max_tasks=model.max_tasks,
        devices=device_files(model.devices),
    )


def _problems(model: SshIn) -> Iterable[Problem]:
    return [*time_problems(model), *script_problems(model), *nameless(model.nodes)]


SSH_CLUSTERS = ClusterKind("ssh", SshIn, PARTS, _complete, _problems, SshListing())
