"""A sample of usage as the agent of a large machine tells it, with figures that never stand still."""

import random
from typing import Any

CORES = 64
GPUS = 8
MEMORY_BYTES = 512 << 30
DISK_BYTES = 4 << 40
TASKS = 8
SPEED_MBIT = 100_000


def sample(chance: random.Random, at: float) -> dict[str, Any]:
    cores = [round(chance.uniform(0, 100), 1) for _ in range(CORES)]
    used, disk_used = chance.randrange(MEMORY_BYTES), chance.randrange(DISK_BYTES)
    links = [_link(chance, name) for name in ("eth0", "ib0")]
    node = {
        "cpu_percent": round(sum(cores) / CORES, 1),
        "per_core": cores,
        "memory_used_bytes": used,
        "memory_total_bytes": MEMORY_BYTES,
        "memory_available_bytes": MEMORY_BYTES - used,
        "memory_free_bytes": (MEMORY_BYTES - used) // 2,
        "disk_mount": "/var",
        "disk_used_bytes": disk_used,
        "disk_total_bytes": DISK_BYTES,
        "disk_free_bytes": DISK_BYTES - disk_used,
        "net_rx_bytes": sum(link["rx_bytes"] for link in links),
        "net_tx_bytes": sum(link["tx_bytes"] for link in links),
        "net": links,
        "load1": round(chance.uniform(0, CORES), 2),
        "gpus": [_card(chance, index) for index in range(GPUS)],
    }
    tasks = {f"01JCWQ8M3S6T7V9X2Y4Z5A6B7C.1.worker-{index}": _task(chance) for index in range(TASKS)}
    return {"event": "usage", "at": at, "node": node, "tasks": tasks}


def _link(chance: random.Random, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "speed_mbit": SPEED_MBIT,
        "rx_bytes": chance.randrange(1 << 45),
        "tx_bytes": chance.randrange(1 << 45),
        "rx_bytes_s": round(chance.uniform(0, 1e9), 1),
        "tx_bytes_s": round(chance.uniform(0, 1e9), 1),
    }


def _card(chance: random.Random, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "load": float(chance.randrange(101)),
        "memory_used_bytes": chance.randrange(80 << 30),
        "memory_total_bytes": 80 << 30,
        "temperature_c": float(chance.randrange(30, 90)),
        "power_w": round(chance.uniform(50, 400), 1),
        "ecc_errors": 0,
        "foreign_pids": [],
        "missing": False,
    }


def _task(chance: random.Random) -> dict[str, Any]:
    return {
        "cpu_s": round(chance.uniform(0, 1e5), 2),
        "rss_bytes": chance.randrange(64 << 30),
        "processes": chance.randrange(1, 40),
    }
