"""Whether the object that owns a gang is still there. Who deletes it ends the gang."""

from muster.backends.kubernetes.names import SERVER, gang_name
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing
from muster.kubernetes.resources import Resource, labels_of


class Owners:
    def __init__(self, connection: Connection, server: str) -> None:
        self._connection, self._server = connection, server

    async def removal(self, gang: str, namespace: str, *kinds: Resource) -> str:
        """Says that somebody deleted the gang, if it has an owner of none of these kinds. Raises Unreachable, and
        Refused if the owner may not be read."""
        for kind in kinds:
            if await self._is_there(gang, namespace, kind):
                return ""
        return f"{gang_name(gang)} was deleted in Kubernetes"

    async def _is_there(self, gang: str, namespace: str, kind: Resource) -> bool:
        """The operator has an object of the same name for its own purposes, which does not count."""
        try:
            found = await self._connection.get(kind, gang_name(gang), namespace)
        except Missing:
            return False
        return labels_of(found).get(SERVER) == self._server and "deletionTimestamp" not in found["metadata"]
