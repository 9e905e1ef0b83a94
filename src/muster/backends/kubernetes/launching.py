"""Creates the objects of a gang, each once, and all of them or none."""

import asyncio
from collections.abc import Mapping
from typing import Any

from muster.backends.kubernetes.gang_objects import GangObjects
from muster.backends.kubernetes.names import OWNER, SERVER
from muster.domain.errors import BackendError, Rejected
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Exists, Missing, Refused
from muster.kubernetes.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    PADDLE_JOBS,
    PODS,
    SECRETS,
    SERVICES,
    Resource,
    annotations_of,
    labels_of,
    owner_reference,
)

_AT_ONCE = 32
_QUOTA = "exceeded quota"


async def create_gang(
    connection: Connection, objects: GangObjects, namespace: str, urls: Mapping[str, str], *, makes_namespace: bool
) -> None:
    """Create what is missing of the gang. Raises Rejected if the cluster refuses it, and nothing of it is left then."""
    owner = await _create_owner(connection, objects, namespace, makes_namespace)
    reference = owner_reference(owner, CONFIG_MAPS)
    try:
        await _create_all(connection, objects, namespace, reference, urls)
    except Refused as error:
        if not objects.launch.started:
            await connection.delete(CONFIG_MAPS, objects.name, namespace)
        raise _classified(error) from error


async def _create_owner(
    connection: Connection, objects: GangObjects, namespace: str, makes_namespace: bool
) -> Mapping[str, Any]:
    try:
        if makes_namespace:
            await _ensure_user_namespace(connection, objects, namespace)
        return await _created_or_found(connection, objects, namespace)
    except Missing as error:
        hint = f"create it with `kubectl create namespace {namespace}`"
        raise Rejected(f"there is no namespace {namespace}", hint=hint, reason="no-namespace") from error
    except Refused as error:
        raise _classified(error) from error


async def _ensure_user_namespace(connection: Connection, objects: GangObjects, namespace: str) -> None:
    """Create the namespace of a user. One that is there may belong to somebody else: it is used only if this server
    made it for that user, or an admin has labelled it."""
    user, server = objects.launch.gang.owner, objects.labels[SERVER]
    try:
        found = await connection.get(NAMESPACES, namespace)
    except Missing:
        metadata = {"name": namespace, "labels": dict(objects.labels), "annotations": {OWNER: user}}
        try:
            found = await connection.create(NAMESPACES, {"metadata": metadata})
        except Exists:
            found = await connection.get(NAMESPACES, namespace)
    if labels_of(found).get(SERVER) != server:
        message = f"namespace {namespace} was not made by this server, and is not used for {user}"
        hint = f"an admin can allow it: kubectl label --overwrite namespace {namespace} {SERVER}={server}"
        raise Rejected(f"{message}; {hint}", reason="foreign-namespace")
    if annotations_of(found).get(OWNER, user) != user:
        raise Rejected(f"namespace {namespace} belongs to another user than {user}", reason="foreign-namespace")


async def _created_or_found(connection: Connection, objects: GangObjects, namespace: str) -> Mapping[str, Any]:
    try:
        return await connection.create(CONFIG_MAPS, objects.owner(), namespace)
    except Exists:
        found = await connection.get(CONFIG_MAPS, objects.name, namespace)
    if labels_of(found).get(SERVER) != objects.labels[SERVER]:
        message = f"namespace {namespace} has an object {objects.name} of somebody else"
        raise Rejected(message, reason="name-taken")
    return found


async def _create_all(
    connection: Connection,
    objects: GangObjects,
    namespace: str,
    owner: Mapping[str, Any],
    urls: Mapping[str, str],
) -> None:
    """What pods need is there before them. One pod is created before the others, so that a gang which the cluster
    refuses starts nothing."""
    first = [
        (SERVICES, objects.service(owner)),
        (SECRETS, objects.secret(owner, urls)),
        (SECRETS, objects.registry_secret(owner)),
    ]
    if objects.groups is not None:
        first.append((objects.groups, objects.pod_group(owner)))
    await asyncio.gather(*(_create(connection, kind, one, namespace) for kind, one in first if one is not None))
    if objects.is_paddle_job:
        await _create(connection, PADDLE_JOBS, objects.paddle_job(owner), namespace)
        return
    pods = list(objects.pods(owner).values())
    turns = asyncio.Semaphore(_AT_ONCE)

    async def create(pod: Mapping[str, Any]) -> None:
        async with turns:
            await _create(connection, PODS, pod, namespace)

    for pod in pods[:1]:
        await create(pod)
    await asyncio.gather(*(create(pod) for pod in pods[1:]))


async def _create(connection: Connection, resource: Resource, one: Mapping[str, Any], namespace: str) -> None:
    try:
        await connection.create(resource, one, namespace)
    except Exists:
        return


def _classified(error: Refused) -> BackendError:
    """A quota may have room later; whatever else the cluster refuses, it always refuses."""
    if isinstance(error, Denied) and _QUOTA in error.message:
        return BackendError(error.message, reason="quota")
    return Rejected(error.message, reason=error.reason or "refused")
