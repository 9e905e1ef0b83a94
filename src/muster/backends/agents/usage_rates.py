"""Turns the growing CPU seconds in the usage samples of one node into per cent of a core."""

import time

from muster.agent.system.frames import Message
from muster.backends.agents.used_resources import used_resources
from muster.ports.capabilities import NodeUsage, TaskUsage


class UsageMeter:
    def __init__(self) -> None:
        self._before: dict[str, float] = {}
        self._at = 0.0

    def read(self, message: Message) -> NodeUsage:
        at = float(message["at"])
        cpu_s = {task: float(use["cpu_s"]) for task, use in message["tasks"].items()}
        tasks = {
            task: TaskUsage(
                self._percent(task, cpu_s[task], at),
                int(use["rss_bytes"]),
                int(use["processes"]),
                used_resources(use.get("used")),
            )
            for task, use in message["tasks"].items()
        }
        self._before, self._at = cpu_s, at
        return NodeUsage(at, message["node"], tasks, time.time())

    def _percent(self, task: str, cpu_s: float, at: float) -> float | None:
        if task not in self._before or at <= self._at:
            return None
        return round(max(0.0, cpu_s - self._before[task]) / (at - self._at) * 100, 1)
