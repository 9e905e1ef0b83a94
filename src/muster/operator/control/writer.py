"""Writes to the API server, counted. All writes of the operator about jobs pass here."""

import os
import signal
from collections.abc import Awaitable
from typing import Any, TypeVar

from muster.kubernetes.connection import Connection
from muster.kubernetes.resources import EVENTS, Object, Resource, selector
from muster.operator.control.metrics import Metrics

CRASH_AFTER = "MUSTER_OPERATOR_CRASH_AFTER"
"""A variable for tests: after so many writes the operator kills itself, as if the machine had lost power."""


_T = TypeVar("_T")


class Writer:
    def __init__(self, connection: Connection, metrics: Metrics) -> None:
        self._connection, self._metrics = connection, metrics
        self._left = int(os.environ.get(CRASH_AFTER) or 0)

    async def create(self, resource: Resource, one: Object, namespace: str) -> dict[str, Any]:
        return await self._counted("create", resource, self._connection.create(resource, one, namespace))

    async def patch(
        self, resource: Resource, name: str, patch: object, namespace: str, *, subresource: str | None = None
    ) -> dict[str, Any]:
        sent = self._connection.patch(resource, name, patch, namespace, subresource=subresource)
        return await self._counted("patch", resource, sent)

    async def delete(self, resource: Resource, name: str, namespace: str, *, uid: str, is_forced: bool = False) -> None:
        sent = self._connection.delete(resource, name, namespace, uid=uid, grace_s=0 if is_forced else None)
        await self._counted("delete", resource, sent)

    async def delete_all(self, resource: Resource, namespace: str, labels: dict[str, str]) -> None:
        sent = self._connection.delete_all(resource, namespace, labels=selector(labels))
        await self._counted("deletecollection", resource, sent)

    async def event(self, one: Object, namespace: str) -> None:
        await self._counted("create", EVENTS, self._connection.create(EVENTS, one, namespace))

    async def _counted(self, verb: str, resource: Resource, sent: Awaitable[_T]) -> _T:
        self._metrics.writes.labels(verb, resource.plural).inc()
        try:
            return await sent
        finally:
            self._crash_if_asked()

    def _crash_if_asked(self) -> None:
        if self._left:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
