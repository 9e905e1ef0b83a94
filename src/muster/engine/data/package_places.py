"""Looks whether a package that is to be used on its cluster is there, with the rights of the job's owner.

A cluster that cannot say so now does not stand in the way of a job: the task says it when it starts.
"""

import asyncio

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Forbidden, Invalid, MusterError, NotFound, Problem
from muster.domain.needs import folder_name
from muster.domain.specs import PackagePlace
from muster.engine.context import Context
from muster.engine.data.file_places import Address
from muster.engine.data.files import Files
from muster.ports.files import FileKind

_ANSWER_WITHIN_S = 5.0
"""The folder may be on a file server that is away."""


async def package_problems(context: Context, cluster: str, place: PackagePlace, owner: str) -> list[Problem]:
    """`cluster` is the physical cluster on which the job is to run."""
    vc = context.config.virtual.get(place.cluster)
    if (place.cluster if vc is None else vc.cluster) != cluster:
        message = f"lies on cluster {place.cluster}, and the job is for cluster {cluster}"
        return [Problem("package", message, f"submit the job to {place.cluster}, or copy the package")]
    settings = context.backends[cluster].settings
    if problem := _apart(context, settings, place):
        return [problem]
    return await _missing(context, cluster, place, owner)


def _apart(context: Context, settings: PhysicalCluster, place: PackagePlace) -> Problem | None:
    folder = settings.folder(folder_name(place.path, settings) or "")
    if folder is None or folder.shared or len(context.nodes(settings.name)) < 2:
        return None
    message = f"every node of {settings.name} has its own folder {folder.name}"
    return Problem("package", message, "use a folder that all nodes share")


async def _missing(context: Context, cluster: str, place: PackagePlace, owner: str) -> list[Problem]:
    user = await context.store.user(owner)
    if user is None or context.backends[cluster].capabilities.files is None:
        return []
    hint = f"`muster fs ls {place.cluster}:{place.path.rpartition('/')[0]}` lists what is there"
    try:
        asked = Files(context).stat(user, Address(cluster, place.path))
        found = await asyncio.wait_for(asked, _ANSWER_WITHIN_S)
    except (NotFound, Forbidden, Invalid) as error:
        return [Problem("package", error.message, error.hint or hint)]
    except (MusterError, TimeoutError):
        return []
    if found.kind not in (FileKind.FOLDER, FileKind.LINK):
        return [Problem("package", f"{place.path} is not a folder", hint)]
    return []
