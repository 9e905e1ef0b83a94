"""The nodes of SSH clusters, read from cluster files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import ValidationError

from muster.backends.logins.cluster_file import LoginIn, is_host
from muster.backends.logins.options import Login
from muster.backends.ssh.cluster_file.schema import PARTS, SshIn, SshNodeIn, SshNodesIn
from muster.backends.ssh.options import Claims, SshNode
from muster.domain.errors import Problem
from muster.domain.nodes import NodeSettings
from muster.wire.cluster_problems import located, refused
from muster.wire.documents import Document
from muster.wire.physical_schema import NODE_NAME_ACCEPTED, device_files, is_node_name

_LABELS_ONLY = frozenset({"name", "labels"})
_SECRETS = ("keyFile", "passwordFile")


def own_nodes(model: SshIn, document: Document) -> list[SshNode]:
    return [ssh_node(node, model.defaults, document.line(f"nodes[{i}]")) for i, node in enumerate(model.nodes)]


def further_nodes(document: Document, cluster: str, defaults: LoginIn) -> tuple[list[SshNode], list[NodeSettings]]:
    """New nodes, and labels of nodes that are listed elsewhere. Raises Invalid with every problem, each with its
    line."""
    try:
        model = SshNodesIn.model_validate(document.data)
    except ValidationError as error:
        raise refused(error, document, SshNodesIn, PARTS) from None
    if problems := list(nameless(model.nodes)):
        raise located(document, *problems)
    nodes, labelled = [], []
    for index, node in enumerate(model.nodes):
        line = document.line(f"nodes[{index}]")
        if node.name is not None and node.model_fields_set <= _LABELS_ONLY:
            labelled.append(NodeSettings(node.name, cluster, dict(node.labels), line))
        else:
            nodes.append(ssh_node(node, defaults, line))
    return nodes, labelled


def ssh_node(node: SshNodeIn, defaults: LoginIn, line: int | None) -> SshNode:
    def value(key: str) -> Any:
        """The node's own value takes precedence over the defaults, even if it is null."""
        return getattr(node if key in node.model_fields_set else defaults, key)

    host = node.host or node.name
    assert host is not None
    return SshNode(
        name=node.name or host,
        login=Login(
            host=host,
            port=value("port"),
            user=value("user"),
            key_file=value("key_file"),
            password_file=value("password_file"),
            jump=value("jump"),
            host_keys=value("host_keys"),
            host_key=node.host_key,
        ),
        address=node.address,
        interface=value("interface"),
        python=value("python"),
        root=value("root"),
        labels=dict(node.labels),
        claims=_claims(node),
        devices=None if node.devices is None else device_files(node.devices),
        line=line,
    )


def with_whole_paths(node: SshNode, path_of: Callable[[str], Path]) -> SshNode:
    login = node.login
    key, password = (text and str(path_of(text)) for text in (login.key_file, login.password_file))
    return replace(node, login=replace(login, key_file=key, password_file=password))


def named_secrets(data: Any) -> Iterator[tuple[str, str]]:
    """Yields where a document names keys and password files, whether the rest of it is right or not."""
    if not isinstance(data, Mapping):
        return
    nodes = data.get("nodes")
    places: list[tuple[str, Any]] = [("defaults", data.get("defaults"))]
    places += [(f"nodes[{index}]", node) for index, node in enumerate(nodes if isinstance(nodes, list) else [])]
    for place, mapping in places:
        for key in _SECRETS if isinstance(mapping, Mapping) else ():
            if _is_path(text := mapping.get(key)):
                yield f"{place}.{key}", text


def named_lists(data: Any) -> Iterator[tuple[str, str]]:
    text = data.get("nodesFile") if isinstance(data, Mapping) else None
    if _is_path(text):
        yield "nodesFile", text


def _is_path(text: Any) -> TypeGuard[str]:
    return isinstance(text, str) and text.isprintable() and bool(text)


def _claims(node: SshNodeIn) -> Claims:
    """One model for several GPUs is the model of each."""
    models = tuple(node.gpu_models)
    return Claims(node.gpus, models * node.gpus if node.gpus and len(models) == 1 else models)


def nameless(nodes: Iterable[SshNodeIn]) -> Iterator[Problem]:
    """A node needs a name and a host, and one may stand for both."""
    for index, node in enumerate(nodes):
        if node.name is None and node.host is None:
            yield Problem(f"nodes[{index}].name", "is required", "a `name`, a `host` or both")
        elif node.name is None and node.host is not None and not is_node_name(node.host):
            message = f"the host {node.host!r} cannot be the node's name too"
            yield Problem(f"nodes[{index}].name", message, f"give it a `name`: {NODE_NAME_ACCEPTED}")
        elif node.host is None and node.name is not None and not is_host(node.name):
            message = f"the name {node.name!r} cannot be the host too"
            yield Problem(f"nodes[{index}].host", message, "give it a `host`: a name or an address")
