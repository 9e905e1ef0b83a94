"""Nodes that are added and removed by command: kept in `<cluster>.added.yaml`, apart from what admins write by hand.

What would be wrong is refused before anything is replaced. Servers that share the folder write one after the other, and
whoever finds that a file was changed meanwhile by somebody who does not wait, an editor say, begins again with what is
there now. Mistakes in other files are no hindrance: what is in force counts.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from muster.domain.errors import Conflict, Invalid, NotFound, Problem, StaleWrite, Unavailable
from muster.settings.cluster_files import Text, Unreadable, read_file
from muster.settings.clusters import ClusterFolder, ClusterSettings
from muster.settings.folder_lock import only_writer
from muster.settings.last_good import Settled, settle
from muster.settings.private_files import keep_names, write_private
from muster.wire.documents import read_documents
from muster.wire.physical_schema import NODE_NAME_ACCEPTED, is_name

_SECRETS = "secrets"
_TRIES = 5
_HEAD = """\
# Written by `muster node add` and `muster node remove`, which replace the whole file.
# Nodes that you write by hand belong in a file of your own.
"""
_NEW_CLUSTER = """\
# Made by `muster node add`. Yours to change: it is not written again.
"""
_NOTHING: Mapping[str, str] = MappingProxyType({})

Node = Mapping[str, Any]
"""As a document of the folder has it: `name`, `host`, `user`, …"""


def add_node(
    folder: ClusterFolder,
    cluster: str,
    node: Node,
    password: str | None = None,
    in_force: Mapping[str, str] = _NOTHING,
) -> ClusterSettings:
    """The settings with the node. Makes the cluster if there is none. Raises Invalid, and nothing has changed then.
    `in_force` are the texts of the files that count while those of the folder are wrong."""
    _refuse_names(folder, cluster, node.get("name"))
    return _alone(folder, lambda: _add(folder, cluster, node, password, in_force))


def remove_node(
    folder: ClusterFolder, cluster: str, name: str, in_force: Mapping[str, str] = _NOTHING
) -> ClusterSettings:
    """The settings without the node. Raises Conflict for one that an admin wrote, and says where."""
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
                    f"{folder.path} cannot be written: {error.strerror}", hint="see to its rights and its disk"
                ) from None
    raise AssertionError("the last try returns or raises")


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
    """The files that are to be replaced, as they were read."""

    def __init__(self, folder: ClusterFolder, cluster: str) -> None:
        self.folder = folder
        self.cluster = cluster
        self.name = f"{cluster}.added.yaml"
        names = (f"{cluster}.yaml", self.name) if is_name(cluster) else ()
        self._read = {name: _found(folder.path / name) for name in names}
        self.nodes = self._nodes()
        """Those that were added to the cluster until now."""

    def cluster_file(self, now: Settled) -> dict[str, str | None]:
        """What makes the cluster, if there is none."""
        if any(known.name == self.cluster for known in now.settings.physical):
            return {}
        name = f"{self.cluster}.yaml"
        if self._read[name] is None:
            text = yaml.safe_dump({"name": self.cluster, "backend": "ssh"}, sort_keys=False)
            return {name: _NEW_CLUSTER + text}
        if wrong := [problem for problem in now.problems if problem.file == name]:
            problems = tuple(Problem("", str(problem)) for problem in wrong)
            raise Invalid(f"cluster {self.cluster} is not there: its file is wrong", hint="mend it", problems=problems)
        raise Conflict(
            f"there is no cluster {self.cluster}, and {name} has something else in it",
            hint=f"write a document with `backend: ssh` and `name: {self.cluster}` there, or choose another cluster",
        )

    def replace(self, files: Mapping[str, str | None]) -> None:
        """In this order: a reading in between finds a cluster before its nodes. Raises StaleWrite, and nothing has
        changed then, if the files are not as they were read."""
        path = self.folder.path
        if changed := [name for name in files if _found(path / name) != self._read[name]]:
            raise StaleWrite(f"somebody else writes {changed[0]} too", hint="try again")
        for name, text in files.items():
            if text is not None:
                write_private(path / name, text)
            elif self._read[name] is not None:
                (path / name).unlink()
                keep_names(path)

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
        hint = "move what you wrote there to a file of your own"
        return Conflict(f"{self.name} is not as Muster wrote it{why}", hint=hint)


def _found(path: Path) -> Text | Unreadable | None:
    return read_file(path) if path.exists() else None


def _tried(before: _Before, now: Settled, files: dict[str, str | None], nodes: Sequence[Node]) -> ClusterSettings:
    """What the folder would say with these nodes. Puts their text into `files`. Raises Invalid in terms of the last."""
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


def _not_ours(settings: ClusterSettings, cluster: str, name: str) -> Conflict | NotFound:
    members = (member for known in settings.physical if known.name == cluster for member in known.members)
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
