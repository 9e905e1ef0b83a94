"""The operator says that it is ready when it knows everything that jobs depend on."""

import asyncio
import threading
from pathlib import Path

import pytest

from muster.kubernetes.connection import connect
from muster.operator.control.controller import Controller, Options
from muster.operator.control.gang_scheduling import gang_scheduling
from muster.operator.control.metrics import Metrics
from tests.parts.tiny_api_server import Answer, Asked, kubeconfig_for, tiny_api_server

pytestmark = pytest.mark.fast
PATIENCE_S = 60


class SlowNodes:
    """An empty cluster whose nodes are listed only when the test says so. The first list asks for the right to it."""

    def __init__(self) -> None:
        self.asked, self.answered = threading.Event(), threading.Event()

    def answer(self, asked: Asked) -> Answer:
        path, params = asked.path, asked.params
        if path == "/version":
            return 200, [{"major": "1", "minor": "36"}]
        if path == "/api/v1/nodes" and params.get("limit") != "1":
            self.asked.set()
            self.answered.wait(PATIENCE_S)
        if params.get("watch"):
            return 200, []
        return 200, [{"metadata": {"resourceVersion": "1"}, "items": []}]


def test_the_operator_is_not_ready_before_gang_scheduling_knows_the_nodes(tmp_path: Path) -> None:
    nodes = SlowNodes()

    async def run(url: str) -> list[bool]:
        connection = connect(kubeconfig_for(url, tmp_path))
        scheduling = gang_scheduling("", connection, None, lambda: 0.0)
        controller = Controller(connection, Options(), scheduling, Metrics(), lambda: 0.0)
        running = asyncio.create_task(controller.run())
        seen = []
        async with asyncio.timeout(PATIENCE_S):
            while not nodes.asked.is_set():
                await asyncio.sleep(0.01)
            seen.append(controller.is_synced)
            nodes.answered.set()
            while not controller.is_synced:
                await asyncio.sleep(0.01)
            seen.append(controller.is_synced)
        running.cancel()
        await asyncio.wait([running])
        await connection.close()
        return seen

    with tiny_api_server(nodes.answer) as url:
        assert asyncio.run(run(url)) == [False, True]
