"""What the pretended nodes and tasks say: metrics that move, and lines as a training prints them."""

import math
import random
from collections.abc import Sequence

from muster.domain.nodes import Node
from muster.ports.capabilities import NodeUsage, TaskUsage
from tests.parts.fake_backend import FakeTask

GIB = 1 << 30
LINES_OF_EPOCH = 20


def line_of(chance: random.Random, second: int) -> str:
    loss = 2.4 * math.exp(-second / 40) + chance.uniform(0.0, 0.06)
    if second % LINES_OF_EPOCH == LINES_OF_EPOCH - 1:
        accuracy = 1 - loss / 3
        return f"\x1b[32mepoch {second // LINES_OF_EPOCH + 1} done\x1b[0m accuracy {accuracy:.4f}\n"
    rate = chance.uniform(1150, 1290)
    return f"step {second * 50:>6}  loss {loss:.4f}  {rate:.0f} images/s\n"


def node_usage(chance: random.Random, node: Node, running: Sequence[FakeTask], now: float) -> NodeUsage:
    busy = {card for task in running for card in task.request.devices}
    cpu = min(97.0, 3 + 9 * len(running) + chance.uniform(-2, 2))
    memory = node.capacity.memory_bytes
    used = min(memory, (12 + 40 * len(running)) * GIB + chance.randrange(4 * GIB))
    links = [_link(chance, "eth0", len(running)), _link(chance, "ib0", len(running))]
    metrics = {
        "cpu_percent": round(cpu, 1),
        "per_core": [round(max(0.0, min(100.0, cpu + chance.uniform(-20, 20))), 1) for _ in range(64)],
        "memory_used_bytes": used,
        "memory_total_bytes": memory,
        "memory_available_bytes": memory - used,
        "memory_free_bytes": (memory - used) // 2,
        "disk_mount": "/data",
        "disk_used_bytes": 2900 * GIB,
        "disk_total_bytes": 4096 * GIB,
        "disk_free_bytes": 1196 * GIB,
        "net_rx_bytes": 1 << 40,
        "net_tx_bytes": 1 << 40,
        "net": links,
        "load1": round(cpu * 0.64, 2),
        "gpus": [_card(chance, card.index, is_busy=card.index in busy, now=now) for card in node.capacity.devices],
    }
    tasks = {
        task.request.task_id: TaskUsage(round(chance.uniform(180, 420), 1), 40 * GIB, chance.randrange(6, 30))
        for task in running
    }
    return NodeUsage(now, metrics, tasks, received_at=now)


def _card(chance: random.Random, index: int, *, is_busy: bool, now: float) -> dict[str, object]:
    wave = 8 * math.sin(now / 17 + index)
    load = max(0.0, min(100.0, 84 + wave + chance.uniform(-6, 6))) if is_busy else 0.0
    return {
        "index": index,
        "load": round(load),
        "memory_used_bytes": round((52 + wave / 4) * GIB) if is_busy else GIB // 2,
        "memory_total_bytes": 80 * GIB,
        "temperature_c": round(36 + load * 0.38),
        "power_w": round(62 + load * 3.1, 1),
        "ecc_errors": 0,
        "foreign_pids": [],
        "missing": False,
    }


def _link(chance: random.Random, name: str, tasks: int) -> dict[str, object]:
    rate = tasks * 9e7 * chance.uniform(0.7, 1.2)
    return {
        "name": name,
        "speed_mbit": 100_000,
        "rx_bytes": 1 << 40,
        "tx_bytes": 1 << 40,
        "rx_bytes_s": round(rate, 1),
        "tx_bytes_s": round(rate, 1),
    }
