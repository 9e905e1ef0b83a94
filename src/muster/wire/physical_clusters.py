"""Physical clusters read from their documents. What names a file is kept as it was written: nothing is opened here."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from muster.domain.clusters import Claims, Folder, Login, Member, PhysicalCluster
from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.wire.cluster_problems import located, refused
from muster.wire.documents import Document
from muster.wire.physical_schema import (
    NODE_NAME_ACCEPTED,
    PARTS,
    FolderIn,
    LocalIn,
    LoginIn,
    MemberIn,
    MembersIn,
    SharedIn,
    SshIn,
    is_host,
    is_name,
    is_node_name,
)

LOCAL = "local"
"""The backend of the server's own machine, and the name of its cluster."""
_OF_LABELS = frozenset({"name", "labels"})


@dataclass(frozen=True, slots=True)
class Described:
    """A cluster, and what nodes that stand elsewhere take from its document."""

    cluster: PhysicalCluster
    defaults: LoginIn
    nodes_file: str | None = None


def physical_name(document: Document, stem: str) -> str:
    """What the cluster is called, known before the rest of the document is read."""
    name = document.data.get("name")
    return name if isinstance(name, str) else LOCAL if document.data.get("backend") == LOCAL else stem


def read_physical(document: Document, stem: str) -> Described:
    """Raises Invalid with every problem, each with its path and line. `stem` is the name if none is given."""
    schema = LocalIn if document.data.get("backend") == LOCAL else SshIn
    try:
        model = schema.model_validate(document.data)
    except ValidationError as error:
        told = refused(error, document, schema, PARTS)
        raise Invalid("", problems=tuple(_of_ssh_only(problem, schema) for problem in told.problems)) from None
    name = physical_name(document, stem)
    problems = [*_name_problems(model, name, stem), *_conda_problems(model)]
    cluster = PhysicalCluster(
        name=name,
        backend=model.backend,
        folders=tuple(_folder(key, folder) for key, folder in model.folders.items()),
        conda=model.conda,
        description=model.description,
        line=document.line("name") or document.line("backend"),
    )
    if not isinstance(model, SshIn):
        if problems:
            raise located(document, *problems)
        return Described(cluster, LoginIn())
    problems += [*_time_problems(model), *_nameless(model.nodes)]
    if problems:
        raise located(document, *problems)
    members = tuple(
        member(node, model.defaults, document.line(f"nodes[{index}]")) for index, node in enumerate(model.nodes)
    )
    cluster = replace(
        cluster, members=members, unreachable_after_s=model.unreachable_after, lost_after_s=model.lost_after
    )
    return Described(cluster, model.defaults, model.nodes_file)


def read_members(document: Document, described: Described) -> tuple[list[Member], list[NodeSettings]]:
    """New nodes of an SSH cluster, and labels of its other ones. Raises Invalid as `read_physical` does."""
    try:
        model = MembersIn.model_validate(document.data)
    except ValidationError as error:
        raise refused(error, document, MembersIn, PARTS) from None
    if problems := list(_nameless(model.nodes)):
        raise located(document, *problems)
    members, labelled = [], []
    for index, node in enumerate(model.nodes):
        line = document.line(f"nodes[{index}]")
        if node.name is not None and node.model_fields_set <= _OF_LABELS:
            labelled.append(NodeSettings(node.name, described.cluster.name, dict(node.labels), line))
        else:
            members.append(member(node, described.defaults, line))
    return members, labelled


def member(node: MemberIn, defaults: LoginIn, line: int | None) -> Member:
    def of(key: str) -> Any:
        """What a node says, even that there is none, goes before the defaults."""
        return getattr(node if key in node.model_fields_set else defaults, key)

    host = node.host or node.name
    assert host is not None
    return Member(
        name=node.name or host,
        login=Login(
            host=host,
            port=of("port"),
            user=of("user"),
            key_file=of("key_file"),
            password_file=of("password_file"),
            jump=of("jump"),
            host_keys=of("host_keys"),
            host_key=node.host_key,
        ),
        address=node.address,
        interface=of("interface"),
        python=of("python"),
        root=of("root"),
        labels=dict(node.labels),
        claims=_claims(node),
        line=line,
    )


def _claims(node: MemberIn) -> Claims:
    """One model for several cards is the model of each."""
    models = tuple(node.gpu_models)
    return Claims(node.gpus, models * node.gpus if node.gpus and len(models) == 1 else models)


def _folder(name: str, folder: FolderIn) -> Folder:
    return Folder(name, folder.path, folder.shared, folder.read_only, tuple(folder.users), tuple(folder.groups))


def _name_problems(model: SharedIn, name: str, stem: str) -> Iterator[Problem]:
    if model.backend == LOCAL and name != LOCAL:
        yield Problem("name", f"is {name!r}", f"the server's own machine is the cluster {LOCAL}: leave the name out")
    elif model.name is None and model.backend != LOCAL and not is_name(stem):
        yield Problem("", f"the file's name {stem!r} is not a valid name of a cluster", "give it a `name`")


def _of_ssh_only(problem: Problem, schema: type[SharedIn]) -> Problem:
    """A key that is right elsewhere is no slip of the pen."""
    if schema is SshIn or problem.path not in {field.alias for field in SshIn.model_fields.values()}:
        return problem
    if problem.message != "unknown key":
        return problem
    return replace(problem, message="is for clusters with backend: ssh", hint=f"{LOCAL} is the server's own machine")


def _conda_problems(model: SharedIn) -> Iterator[Problem]:
    first = (model.conda or "/").split("/", 1)[0]
    if first and first not in model.folders:
        known = f"folders: {', '.join(model.folders)}" if model.folders else "there are no `folders`"
        yield Problem("conda", f"there is no folder {first!r}", f"an absolute path, or one in a folder; {known}")


def _time_problems(model: SshIn) -> Iterator[Problem]:
    if model.unreachable_after <= 0:
        yield Problem("unreachableAfter", "must be more than nothing", "a node is silent between any two words")
    if model.lost_after < model.unreachable_after:
        yield Problem("lostAfter", "is less than unreachableAfter", "a node is unreachable before its tasks are lost")


def _nameless(nodes: list[MemberIn]) -> Iterator[Problem]:
    for index, node in enumerate(nodes):
        if node.name is None and node.host is None:
            yield Problem(f"nodes[{index}].name", "is required", "a `name`, a `host` or both")
        elif node.name is None and node.host is not None and not is_node_name(node.host):
            message = f"the host {node.host!r} cannot be the node's name too"
            yield Problem(f"nodes[{index}].name", message, f"give it a `name`: {NODE_NAME_ACCEPTED}")
        elif node.host is None and node.name is not None and not is_host(node.name):
            message = f"the name {node.name!r} cannot be the host too"
            yield Problem(f"nodes[{index}].host", message, "give it a `host`: a name or an address")
