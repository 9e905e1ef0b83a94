"""The pretended cluster: a fake backend with a life of its own."""

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from muster.domain.clusters import PhysicalCluster
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device
from muster.ports.backend import BackendListener, Phase
from tests.parts.fake_backend import FakeBackend, FakeTask
from tests.parts.pretend_cluster.figures import line_of, node_usage

GIB = 1 << 30
BEAT_S = 1.0
KEPT_SAMPLES = 150
DURATION = "PRETEND_S"
EXIT_CODE = "PRETEND_EXIT"
MODELS = ("A100-SXM4-80GB", "A100-SXM4-80GB", "RTX3090", "H100-SXM5-80GB")
GPUS = 8
NODES_OF_A_RACK = 10


@dataclass(frozen=True, slots=True)
class PretendOptions:
    nodes: int
    sick: bool
    """Whether one node does not answer, one is cordoned and one GPU is out of service."""


@dataclass(slots=True)
class PretendBackend(FakeBackend):
    """Each task runs for as many seconds as its variable PRETEND_S says, and ends with the code PRETEND_EXIT."""

    chance: random.Random = field(default_factory=lambda: random.Random(7))
    printed_s: dict[str, int] = field(default_factory=dict)
    """How many seconds of its life each task has printed."""
    beating: "asyncio.Task[None] | None" = None

    async def start(self, listener: BackendListener) -> None:
        await FakeBackend.start(self, listener)
        self.beating = asyncio.create_task(self._live())
        self.tell_nodes()

    async def close(self) -> None:
        if self.beating is not None:
            self.beating.cancel()
            with suppress(asyncio.CancelledError):
                await self.beating
        await FakeBackend.close(self)

    async def _live(self) -> None:
        while True:
            self.beat(time.time())
            await asyncio.sleep(BEAT_S)

    def beat(self, now: float) -> None:
        """One second of the cluster's life."""
        self.clock = now
        for task_id, task in list(self.tasks.items()):
            if task.seen.phase is Phase.RUNNING:
                self._go_on(task_id, task, now)
        running: dict[str, list[FakeTask]] = {}
        for task in self.tasks.values():
            if task.seen.phase is Phase.RUNNING:
                running.setdefault(task.request.node, []).append(task)
        for node in self.machines:
            if node.state is not NodeState.UNREACHABLE:
                self.measured(node.name, node_usage(self.chance, node, running.get(node.name, []), now))
                del self.past_samples[node.name][:-KEPT_SAMPLES]

    def _go_on(self, task_id: str, task: FakeTask, now: float) -> None:
        """Each second of a task has its line, also on a machine that is too busy for a beat in each second."""
        ran_s = now - (task.seen.started_at or now)
        seconds = range(self.printed_s.get(task_id, 0), int(ran_s) + 1)
        self.prints(task_id, "".join(line_of(self.chance, second) for second in seconds))
        self.printed_s[task_id] = max(seconds.start, seconds.stop)
        if ran_s >= float(task.request.env.get(DURATION, "60")):
            self.end(task_id, int(task.request.env.get(EXIT_CODE, "0")))


def pretend_backend(settings: PhysicalCluster) -> PretendBackend:
    assert isinstance(settings.options, PretendOptions)
    machines = [_node(settings.name, index) for index in range(settings.options.nodes)]
    if settings.options.sick and len(machines) > 3:
        machines[-1] = replace(machines[-1], state=NodeState.UNREACHABLE, note="it does not answer")
        broken = machines[-2].capacity
        cards = tuple(
            replace(card, out_of_service="uncorrectable ECC errors") if card.index == 3 else card
            for card in broken.devices
        )
        machines[-2] = replace(
            machines[-2],
            capacity=replace(broken, devices=cards),
            alerts=("GPU 3 is out of service: uncorrectable ECC errors",),
        )
    return PretendBackend(machines=machines, settings=settings)


def _node(cluster: str, index: int) -> Node:
    model = MODELS[index // NODES_OF_A_RACK % len(MODELS)]
    devices = tuple(Device(card, model) for card in range(GPUS))
    rack = chr(ord("a") + index // NODES_OF_A_RACK % 26)
    return Node(
        f"gpu{index + 1:02d}",
        cluster,
        f"10.9.{index // 250}.{index % 250 + 1}",
        Capacity(64_000, 512 * GIB, devices),
        NodeState.READY,
        labels={"rack": rack},
    )
