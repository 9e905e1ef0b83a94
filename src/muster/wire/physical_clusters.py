"""What clusters of every backend have, read from their documents. Files that a document names are not opened here."""

from collections.abc import Iterator

from pydantic import ValidationError

from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.isolation import IsolationSettings
from muster.domain.node_scripts import NodeScripts
from muster.wire.cluster_problems import Parts, refused
from muster.wire.documents import Document
from muster.wire.physical_schema import SHARED_PARTS, FolderIn, IsolatingIn, SharedIn


def validated(document: Document, schema: type[SharedIn], parts: Parts) -> SharedIn:
    """Raises Invalid with every problem, each with its path and line."""
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        raise refused(error, document, schema, {**SHARED_PARTS, **parts}) from None


def shared_part(model: SharedIn, name: str, document: Document) -> PhysicalCluster:
    """The cluster as far as every backend has it."""
    return PhysicalCluster(
        name=name,
        backend=model.backend,
        folders=tuple(_folder(key, folder) for key, folder in model.folders.items()),
        storages={key: path.rstrip("/") for key, path in model.storages.items()},
        conda=model.conda,
        description=model.description,
        access=model.access.access(),
        gpu_hour_price=model.gpu_hour_price,
        reserved=model.reserved.reserved(),
        line=document.line("name") or document.line("backend"),
    )


def isolation_of(model: IsolatingIn) -> IsolationSettings:
    first, last = model.uids
    return IsolationSettings(model.isolation, dict(model.accounts), first, last, model.trust_users, model.image)


def scripts_of(model: IsolatingIn) -> NodeScripts:
    return NodeScripts(
        tuple(one.check() for one in model.health_checks),
        model.prolog.script() if model.prolog else None,
        model.epilog.script() if model.epilog else None,
    )


def script_problems(model: IsolatingIn) -> Iterator[Problem]:
    names = [one.name for one in model.health_checks]
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Problem(f"healthChecks[{place}].name", f"there is another check {name!r}", "give each its own name")


def shared_problems(model: SharedIn) -> Iterator[Problem]:
    """What the schema alone cannot see."""
    known = f"folders: {', '.join(model.folders)}" if model.folders else "there are no `folders`"
    first = (model.conda or "/").split("/", 1)[0]
    if first and first not in model.folders:
        yield Problem("conda", f"there is no folder {first!r}", f"an absolute path, or one in a folder; {known}")
    for name, path in model.storages.items():
        if path.startswith("/"):
            yield Problem(f"storages.{name}", "is an absolute path", f"begin with the name of a folder; {known}")
        elif (folder := path.split("/", 1)[0]) not in model.folders:
            yield Problem(f"storages.{name}", f"there is no folder {folder!r}", known)


def _folder(name: str, folder: FolderIn) -> Folder:
    return Folder(name, folder.path, folder.shared, folder.read_only, tuple(folder.users), tuple(folder.groups))
