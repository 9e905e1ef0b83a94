"""Nodes that are added and removed by command: kept in `<cluster>.added.yaml`, apart from what admins write by hand.

What would be wrong is refused before anything is replaced. One writer at a time: the caller sees to it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from muster.domain.errors import Conflict, Invalid, NotFound, Problem
from muster.settings.clusters import ClusterFolder, ClusterSettings
from muster.settings.private_files import keep_names, write_private
from muster.wire.documents import read_documents
from muster.wire.physical_schema import NODE_NAME_ACCEPTED, is_name

_SECRETS = "secrets"
_HEAD = """\
# Written by `muster node add` and `muster node remove`, which replace the whole file.
# Nodes that you write by hand belong in a file of your own.
"""
_NEW_CLUSTER = """\
# Made by `muster node add`. Yours to change: it is not written again.
"""

Node = Mapping[str, Any]
"""As a document of the folder has it: `name`, `host`, `user`, …"""


def add_node(folder: ClusterFolder, cluster: str, node: Node, password: str | None = None) -> ClusterSettings:
    """The settings with the node. Makes the cluster if there is none. Raises Invalid, and nothing has changed then."""
    _refuse_names(folder, cluster, node.get("name"))
    before = _added(folder, cluster)
    files = _cluster_file(folder, cluster)
    settings = _tried(folder, cluster, files, [*before, node])
    if password is None:
        _write_all(folder, files)
        return settings
    secret = _write_password(folder, cluster, node["name"], password)
    try:
        with_password = {**node, "passwordFile": str(secret.relative_to(folder.path))}
        settings = _tried(folder, cluster, files, [*before, with_password])
        _write_all(folder, files)
    except BaseException:
        secret.unlink()
        raise
    return settings


def remove_node(folder: ClusterFolder, cluster: str, name: str) -> ClusterSettings:
    """The settings without the node. Raises Conflict for one that an admin wrote, and says where."""
    nodes = _added(folder, cluster)
    left = [node for node in nodes if node.get("name") != name]
    if len(left) == len(nodes):
        raise _not_ours(folder, cluster, name)
    file = folder.path / _added_name(cluster)
    text = _text(cluster, left) if left else None
    settings = folder.read({file.name: text})
    if text is None:
        file.unlink()
        keep_names(folder.path)
    else:
        write_private(file, text)
    with suppress(FileNotFoundError):
        _secret_path(folder, cluster, name).unlink()
    return settings


def _tried(folder: ClusterFolder, cluster: str, files: dict[str, str | None], nodes: Sequence[Node]) -> ClusterSettings:
    """What the folder would say with these nodes. Puts their text into `files`. Raises Invalid in terms of the last."""
    name = _added_name(cluster)
    files[name] = _text(cluster, nodes)
    try:
        return folder.read(files)
    except Invalid as error:
        own = f"nodes[{len(nodes) - 1}]"
        problems = tuple(_of_node(problem, name, own) for problem in error.problems)
        raise Invalid("the node cannot be added", problems=problems) from None


def _of_node(problem: Problem, file: str, own: str) -> Problem:
    """Whoever adds a node does not know the file that it would stand in."""
    if problem.file == file and problem.path.startswith(own):
        return replace(problem, path=problem.path.removeprefix(own).removeprefix("."), file="", line=None)
    if problem.file == file and problem.path == "nodes":
        return replace(problem, path="name", file="", line=None)
    return Problem("", str(problem))


def _refuse_names(folder: ClusterFolder, cluster: str, name: Any) -> None:
    """Both become names of files."""
    problems = []
    if cluster in folder.physical:
        problems.append(Problem("cluster", f"{cluster} is the server's own machine", "nodes are added to others"))
    elif not is_name(cluster):
        problems.append(Problem("cluster", f"{cluster!r} is not a valid name", NODE_NAME_ACCEPTED))
    if not isinstance(name, str) or not is_name(name):
        problems.append(Problem("name", f"{name!r} is not a valid name", f"{NODE_NAME_ACCEPTED}, at most 63"))
    if problems:
        raise Invalid("the node cannot be added", problems=tuple(problems))


def _cluster_file(folder: ClusterFolder, cluster: str) -> dict[str, str | None]:
    """What makes the cluster, if there is none."""
    if any(known.name == cluster for known in _as_it_is(folder).physical):
        return {}
    name = f"{cluster}.yaml"
    if (folder.path / name).exists():
        raise Conflict(
            f"there is no cluster {cluster}, and {name} has something else in it",
            hint=f"write a document with `backend: ssh` and `name: {cluster}` there, or choose another cluster",
        )
    return {name: _NEW_CLUSTER + yaml.safe_dump({"name": cluster, "backend": "ssh"}, sort_keys=False)}


def _as_it_is(folder: ClusterFolder) -> ClusterSettings:
    try:
        return folder.read()
    except Invalid as error:
        problems = tuple(Problem("", str(problem)) for problem in error.problems)
        raise Invalid(error.message, hint="mend the files first", problems=problems) from None


def _added_name(cluster: str) -> str:
    return f"{cluster}.added.yaml"


def _added(folder: ClusterFolder, cluster: str) -> list[dict[str, Any]]:
    """The nodes that were added to the cluster until now."""
    file = folder.path / _added_name(cluster)
    if not is_name(cluster) or not file.exists():
        return []
    documents = [document.data for document in read_documents(file.read_text(encoding="utf-8"))]
    match [data for data in documents if data is not None]:
        case []:
            return []
        case [{"cluster": str(of), "nodes": [*nodes], **rest}] if of == cluster and not rest:
            if all(isinstance(node, dict) for node in nodes):
                return nodes
    raise Conflict(f"{file.name} is not as Muster wrote it", hint="move what you wrote there to a file of your own")


def _not_ours(folder: ClusterFolder, cluster: str, name: str) -> Conflict | NotFound:
    members = (member for known in _as_it_is(folder).physical if known.name == cluster for member in known.members)
    found = next((member for member in members if member.name == name), None)
    if found is None:
        return NotFound(f"cluster {cluster} has no node {name!r}", hint="see `muster get nodes`")
    place = f"{found.file}, line {found.line}" if found.line else found.file
    return Conflict(f"{name} was not added by command: it stands in {place}", hint="take it out of that file")


class _Quoted(str):
    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Quotes values, so that none is read as a number or a truth by whatever version of YAML."""


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def _text(cluster: str, nodes: Sequence[Node]) -> str:
    data = {
        "cluster": _Quoted(cluster),
        "nodes": [{key: _quoted(value) for key, value in node.items()} for node in nodes],
    }
    return _HEAD + yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=1 << 16)


def _quoted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_quoted(key): _quoted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_quoted(inner) for inner in value]
    return _Quoted(value) if isinstance(value, str) else value


def _secret_path(folder: ClusterFolder, cluster: str, name: str) -> Path:
    return folder.path / _SECRETS / f"{cluster}.{name}.password"


def _write_password(folder: ClusterFolder, cluster: str, name: str, password: str) -> Path:
    if not password or not password.isprintable():
        raise Invalid(
            "the password is empty, or no line of text", problems=(Problem("password", "is no line of text"),)
        )
    path = _secret_path(folder, cluster, name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, f"{password}\n")
    return path


def _write_all(folder: ClusterFolder, files: Mapping[str, str | None]) -> None:
    """In this order: a reading in between finds a cluster before its nodes."""
    for name, text in files.items():
        if text is not None:
            write_private(folder.path / name, text)
