"""The plain way, for comparison: a sorted list of jobs, a list of nodes, the first node that fits. No shares, no
limits, no preemption, no prediction, no reasons."""

from bisect import insort
from collections.abc import Iterable, Iterator

from muster.scheduling.demand import JobDemand


class FirstFit:
    def __init__(self, nodes: int, gpus_per_node: int, jobs: Iterable[JobDemand]) -> None:
        self.free = [gpus_per_node] * nodes
        self.queue = sorted(jobs, key=lambda job: job.order)
        self.running: dict[str, list[tuple[int, int]]] = {}

    def look(self) -> Iterator[bool]:
        """At each job in order: whether it starts. Whoever has seen enough stops asking."""
        at = 0
        while at < len(self.queue):
            places = self._place(self.queue[at])
            if places is None:
                at += 1
            else:
                self.running[self.queue.pop(at).job_id] = places
            yield places is not None

    def add(self, job: JobDemand) -> None:
        insort(self.queue, job, key=lambda job: job.order)

    def release(self, job_id: str) -> None:
        for node, gpus in self.running.pop(job_id):
            self.free[node] += gpus

    def _place(self, job: JobDemand) -> list[tuple[int, int]] | None:
        places: list[tuple[int, int]] = []
        for task in job.tasks:
            gpus = task.resources.gpus
            node = next((index for index, free in enumerate(self.free) if free >= gpus), None)
            if node is None:
                for taken, number in places:
                    self.free[taken] += number
                return None
            self.free[node] -= gpus
            places.append((node, gpus))
        return places
