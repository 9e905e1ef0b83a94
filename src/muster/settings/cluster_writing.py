"""Adds and removes nodes by command, in `<cluster>.added.yaml`, apart from the files that admins write by hand.

An invalid change is refused before any file is replaced. Servers that share the folder take a lock and write one
after the other. If a file was changed meanwhile by a program that ignores the lock, such as an editor, the change is
tried again with the new contents. Mistakes in other files do not matter, because their last valid versions are used.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Conflict, Invalid, NotFound, Problem, StaleWrite, Unavailable
from muster.lib.partial_files import sync_folder
from muster.ports.cluster_config import ClusterSettings
from muster.settings.cluster_files import Text, Unreadable, read_file
from muster.settings.cluster_kinds import ClusterKinds
from muster.settings.clusters import ClusterFolder
from muster.settings.folder_lock import only_writer
from muster.settings.last_good import Settled, settle
from muster.settings.private_files import write_private
from muster.wire.documents import read_documents
from muster.wire.physical_schema import NODE_NAME_ACCEPTED, is_name

_SECRETS = "secrets"
_TRIES = 5
_HEAD = """\
# Written by `muster node add` and `muster node remove`, which replace the whole file.
# Put nodes that you add by hand into a file of your own.
"""
_NEW_CLUSTER = """\
# Created by `muster node add`. You may change it: Muster does not write it again.
"""
_NOTHING: Mapping[str, str] = MappingProxyType({})

Node = Mapping[str, Any]
"""A node as it is written in a cluster file: `name`, `host`, `user`, …"""


def node_entry(kinds: ClusterKinds, known: PhysicalCluster | None, request: Mapping[str, Any]) -> Node:
    """Return the entry that a request to add a node becomes in a cluster file. Raises Invalid.

    `known` is the cluster, and None if it is yet to be created.
    """
    kind = kinds.kind_with_listing() if known is None else kinds.named(known.backend)
    if known is not None and kind.listing is None:
        message, hint = f"{known.name} has the backend {kind.name}", "nodes are not added to it by command"
        raise Invalid("the node cannot be added", problems=(Problem("cluster", message, hint),))
    assert kind.listing is not None
    return kind.listing.entry(request)


def add_node(
    folder: ClusterFolder,
    cluster: str,
    node: Node,
    password: str | None = None,
    in_force: Mapping[str, str] = _NOTHING,
) -> ClusterSettings:
    """Add a node, create its cluster if there is none, and return the new settings.

    `in_force` has the texts of the files in effect, which are used where those of the folder have mistakes. If Invalid
    is raised, nothing has changed.
    """
    _refuse_names(folder, cluster, node.get("name"))
    return _alone(folder, lambda: _add(folder, cluster, node, password, in_force))


def remove_node(
    folder: ClusterFolder, cluster: str, name: str, in_force: Mapping[str, str] = _NOTHING
) -> ClusterSettings:
    """Remove a node and return the new settings. Raises Conflict for a node that is defined in a file of an admin."""
    return _alone(folder, lambda: _remove(folder, cluster, name, in_force))


def _alone(folder: ClusterFolder, change: Callable[[], ClusterSettings]) -> ClusterSettings:
    with only_writer(folder.path):
        for left in reversed(range(_TRIES)):
            try:
                return change()
            except StaleWrite:
                if not left:
                    raise
            except OSError as error:
                raise Unavailable(
                    f"{folder.path} cannot be written: {error.strerror}",
                    hint="check its permissions and whether the disk is full",
                ) from None
    raise AssertionError("the last iteration returns or raises")


def _add(
    folder: ClusterFolder, cluster: str, node: Node, password: str | None, in_force: Mapping[str, str]
) -> ClusterSettings:
    before = _Before(folder, cluster)
    now = settle(folder, in_force)
    new = before.cluster_file(now)
    settings = _tried(before, now, new, [*before.nodes, node])
    if password is None:
        before.replace(new)
        return settings
    secret = _write_password(folder, cluster, node["name"], password)
    try:
        with_password = {**node, "passwordFile": str(secret.relative_to(folder.path))}
        settings = _tried(before, now, new, [*before.nodes, with_password])
        before.replace(new)
    except BaseException:
        secret.unlink()
        raise
    return settings


def _remove(folder: ClusterFolder, cluster: str, name: str, in_force: Mapping[str, str]) -> ClusterSettings:
    before = _Before(folder, cluster)
    left = [node for node in before.nodes if node.get("name") != name]
    if len(left) == len(before.nodes):
        raise _not_ours(settle(folder, in_force).settings, cluster, name)
    before.replace({before.name: _text(cluster, left) if left else None})
    with suppress(FileNotFoundError):
        _secret_path(folder, cluster, name).unlink()
    return settle(folder, in_force).settings


class _Before:
    """The files that are about to be replaced, as they were when they were read."""

    def __init__(self, folder: ClusterFolder, cluster: str) -> None:
        self.folder = folder
        self.cluster = cluster
        self.name = f"{cluster}.added.yaml"
        names = (f"{cluster}.yaml", self.name) if is_name(cluster) else ()
        self._read = {name: _found(folder.path / name) for name in names}
        self.nodes = self._nodes()
        """The nodes that were added to the cluster before."""

    def cluster_file(self, now: Settled) -> dict[str, str | None]:
        """Return the file that creates the cluster, if there is none yet."""
        if any(known.name == self.cluster for known in now.settings.physical):
            return {}
        name, backend = f"{self.cluster}.yaml", self.folder.kinds.kind_with_listing().name
        if self._read[name] is None:
            text = yaml.safe_dump({"name": self.cluster, "backend": backend}, sort_keys=False)
            return {name: _NEW_CLUSTER + text}
        if wrong := [problem for problem in now.problems if problem.file == name]:
            problems = tuple(Problem("", str(problem)) for problem in wrong)
            message = f"cluster {self.cluster} cannot be used because its file has mistakes"
            raise Invalid(message, hint="fix the file", problems=problems)
        raise Conflict(
            f"there is no cluster {self.cluster}, and {name} defines something else",
            hint=f"add a document with `backend: {backend}` and `name: {self.cluster}` to it, "
            "or choose another cluster",
        )

    def replace(self, files: Mapping[str, str | None]) -> None:
        """Write the files in this order, so that a concurrent reader finds a cluster before its nodes.

        If a file has changed since it was read, StaleWrite is raised and nothing is written.
        """
        path = self.folder.path
        if changed := [name for name in files if _found(path / name) != self._read[name]]:
            raise StaleWrite(f"{changed[0]} was changed at the same time by somebody else", hint="try again")
        for name, text in files.items():
            if text is not None:
                write_private(path / name, text)
            elif self._read[name] is not None:
                (path / name).unlink()
                sync_folder(path)

    def _nodes(self) -> list[dict[str, Any]]:
        match self._read.get(self.name):
            case None:
                return []
            case Unreadable(message, hint):
                raise Conflict(f"{self.name} {message}", hint=hint)
            case Text(text):
                documents = self._documents(text)
        match [data for data in documents if data is not None]:
            case []:
                return []
            case [{"cluster": str(of), "nodes": [*nodes], **rest}] if of == self.cluster and not rest:
                if all(isinstance(node, dict) for node in nodes):
                    return nodes
        raise self._not_as_written()

    def _documents(self, text: str) -> list[Any]:
        try:
            return [document.data for document in read_documents(text)]
        except Invalid as error:
            told = "; ".join(str(problem) for problem in error.problems)
            raise self._not_as_written(f": {told or error.message}") from None

    def _not_as_written(self, why: str = "") -> Conflict:
        hint = "move your own entries to another file"
        return Conflict(f"{self.name} was changed by hand{why}", hint=hint)


def _found(path: Path) -> Text | Unreadable | None:
    return read_file(path) if path.exists() else None


def _tried(before: _Before, now: Settled, files: dict[str, str | None], nodes: Sequence[Node]) -> ClusterSettings:
    """Return the settings with these nodes and put their text into `files`. Invalid refers to the last node."""
    files[before.name] = _text(before.cluster, nodes)
    kept = {name: Text(text, was_in_force=True) for name, text in now.texts.items()}
    new = {name: Text(text) for name, text in files.items() if text is not None}
    try:
        return before.folder.said({**kept, **new})
    except Invalid as error:
        own = f"nodes[{len(nodes) - 1}]"
        problems = tuple(_of_node(problem, before.name, own) for problem in error.problems)
        raise Invalid("the node cannot be added", problems=problems) from None


def _of_node(problem: Problem, file: str, own: str) -> Problem:
    """Rewrite a problem without the file and line, which mean nothing to the user who adds a node."""
    if problem.file == file and problem.path.startswith(own):
        return replace(problem, path=problem.path.removeprefix(own).removeprefix("."), file="", line=None)
    if problem.file == file and problem.path == "nodes":
        return replace(problem, path="name", file="", line=None)
    return Problem("", str(problem))


def _refuse_names(folder: ClusterFolder, cluster: str, name: Any) -> None:
    """Check both names, because they become names of files."""
    problems = []
    if cluster in folder.physical:
        problems.append(
            Problem("cluster", f"{cluster} is the server's own machine", "nodes can only be added to other clusters")
        )
    elif not is_name(cluster):
        problems.append(Problem("cluster", f"{cluster!r} is not a valid name", NODE_NAME_ACCEPTED))
    if not isinstance(name, str) or not is_name(name):
        problems.append(Problem("name", f"{name!r} is not a valid name", f"{NODE_NAME_ACCEPTED}, at most 63"))
    if problems:
        raise Invalid("the node cannot be added", problems=tuple(problems))


def _not_ours(settings: ClusterSettings, cluster: str, name: str) -> Conflict | NotFound:
    nodes = (node for known in settings.physical if known.name == cluster for node in known.nodes)
    found = next((node for node in nodes if node.name == name), None)
    if found is None:
        return NotFound(f"cluster {cluster} has no node {name!r}", hint="see `muster get nodes`")
    place = f"{found.file}, line {found.line}" if found.line else found.file
    return Conflict(f"{name} was not added by a command: it is defined in {place}", hint="remove it from that file")


class _Quoted(str):
    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Quotes values, so that no version of YAML reads one as a number or a boolean."""


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
        problem = Problem("password", "is empty or is not a single line of text")
        raise Invalid("the password cannot be used", problems=(problem,))
    path = _secret_path(folder, cluster, name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, f"{password}\n")
    return path
