"""Connections to ports of the pods of tasks. A pod has a network of its own, so that only its own ports are reached.
One that uses the network of its node is refused."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from muster.domain.errors import Conflict, Rejected
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Missing
from muster.kubernetes.pod_ports import PodPort, connected_to_pod
from muster.kubernetes.resources import PODS
from muster.ports.capabilities import TaskConnection, TaskRef


class PodConnections:
    """Implements `ports.capabilities.TaskConnections`."""

    def __init__(self, connected: Callable[[], Connection]) -> None:
        self._connected = connected

    @asynccontextmanager
    async def connect(self, task: TaskRef, port: int) -> AsyncIterator[TaskConnection]:
        namespace, _, pod = (task.handle or "").partition("/")
        if not pod:
            raise Conflict("the task has no pod yet", hint="wait until it runs")
        connection = self._connected()
        try:
            if (await connection.get(PODS, pod, namespace))["spec"].get("hostNetwork"):
                raise Rejected(
                    "the pod uses the network of its node, where the ports of others could be reached too",
                    hint="run it without `intranet: Host`",
                )
            async with connected_to_pod(connection, namespace, pod, port) as opened:
                yield _Connection(opened)
        except Denied:
            raise Rejected(
                f"the account of this cluster may not reach ports of pods of namespace {namespace}",
                hint="an admin of the cluster grants it the rights `create` and `get` on pods/portforward",
            ) from None
        except Missing:
            raise Conflict("the task is not running", hint="`muster get workers JOB` shows which tasks run") from None


class _Connection:
    def __init__(self, port: PodPort) -> None:
        self._port = port

    async def send(self, data: bytes) -> None:
        await self._port.send(data)

    async def end_input(self) -> None:
        """Kubernetes cannot pass this on: the task sees the end when the connection is closed."""

    def received(self) -> AsyncGenerator[bytes]:
        return self._port.received()
