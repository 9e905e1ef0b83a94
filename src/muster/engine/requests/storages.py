"""Storages that a job names, which each cluster maps to folders of its own.

They are looked up when the job is admitted: what an admin maps to other folders later concerns later jobs only, whose
owners may use those folders.
"""

from dataclasses import replace

from muster.domain.access import is_open, may_use
from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec, Mount
from muster.engine.context import Context
from muster.lib.nearest import nearest

_LISTED = 20


async def with_storages(context: Context, spec: JobSpec, cluster: str, owner: str) -> tuple[JobSpec, list[Problem]]:
    """The spec with the folders of this cluster for the storages that it names, and the problems of those that the
    cluster has not, or not for this user. Then the spec has no mounts, because those would be checked in vain."""
    if not any(mount.storage for mount in spec.mounts):
        return spec, []
    settings, user = context.backends[cluster].settings, await context.store.user(owner)
    mounts, problems = [], []
    for place, mount in enumerate(spec.mounts):
        found = _resolved(mount, settings, user)
        if found is None:
            listed = _hint(mount.storage, usable_storages(settings, user))
            message = f"cluster {settings.name} has no storage {mount.storage!r}"
            problems.append(Problem(f"mounts[{place}].storage", message, listed))
        else:
            mounts.append(found)
    return replace(spec, mounts=() if problems else tuple(mounts)), problems


def usable_storages(settings: PhysicalCluster, user: User | None) -> list[str]:
    """The names that this user can give as a storage: those of the cluster's file, then the folders themselves."""
    names = dict.fromkeys([*settings.storages, *(folder.name for folder in settings.folders)])
    return [name for name in names if _is_usable(settings.storage_source(name) or "", settings, user)]


def _resolved(mount: Mount, settings: PhysicalCluster, user: User | None) -> Mount | None:
    if not mount.storage:
        return mount
    source = settings.storage_source(mount.storage)
    return replace(mount, source=source) if source and _is_usable(source, settings, user) else None


def _is_usable(source: str, settings: PhysicalCluster, user: User | None) -> bool:
    """A storage in a folder of others is as unknown as its folder is."""
    folder = settings.folder(folder_name(source, settings) or "")
    return folder is None or is_open(folder) or (user is not None and may_use(folder, user))


def _hint(name: str, known: list[str]) -> str:
    guess = nearest(name, known)
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    if not known:
        return "this cluster's file names no storages and no folders; an admin adds them as `storages`"
    listed = f"known storages: {', '.join(known[:_LISTED])}{more}"
    return f"did you mean {guess}? {listed}" if guess else listed
