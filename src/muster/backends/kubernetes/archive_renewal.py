"""Renews the addresses of archives for pods that wait, so that an address need not be valid for long."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from muster.backends.kubernetes.pods import ARCHIVES
from muster.backends.kubernetes.preparation import PLAN, renewed
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing
from muster.kubernetes.resources import SECRETS, Key, key_of


def waiting_secrets(pods: Iterable[Mapping[str, Any]]) -> set[Key]:
    """The secrets with the addresses that pods which have not started yet will fetch from, by namespace and name."""
    found: set[Key] = set()
    for pod in pods:
        if (pod.get("status") or {}).get("phase") != "Pending":
            continue
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("name") == ARCHIVES:
                found.add((key_of(pod)[0], volume["secret"]["secretName"]))
    return found


async def renew(connection: Connection, namespace: str, name: str, url_of: Callable[[str], str]) -> None:
    try:
        secret = await connection.get(SECRETS, name, namespace)
    except Missing:
        return
    plan = renewed(b64decode(secret["data"][PLAN]).decode(), url_of)
    await connection.patch(SECRETS, name, {"data": {PLAN: b64encode(plan.encode()).decode()}}, namespace)
