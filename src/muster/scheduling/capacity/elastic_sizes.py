"""The sizes at which an elastic gang may run, and its demand at each of them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from muster.scheduling.demand import JobDemand, TaskDemand


def sizes_to_try(job: JobDemand, *, may_grow: bool) -> Iterable[JobDemand]:
    """The demand at the size asked for, then smaller and smaller; if it may grow, from the largest size on."""
    return _sizes(job, may_grow) if job.elastic else (job,)


def at_its_smallest(job: JobDemand) -> JobDemand:
    return sized(job, {one.role: one.least for one in job.elastic}) if job.elastic else job


def _sizes(job: JobDemand, may_grow: bool) -> Iterator[JobDemand]:
    """Elastic roles shrink one task at a time, the largest of them first."""
    asked = {one.role: sum(task.role == one.role for task in job.tasks) for one in job.elastic}
    least = {one.role: one.least for one in job.elastic}
    sizes = {one.role: one.most if may_grow else asked[one.role] for one in job.elastic}
    while True:
        yield sized(job, sizes)
        shrinkable = [role for role in sizes if sizes[role] > least[role]]
        if not shrinkable:
            return
        role = max(shrinkable, key=lambda role: (sizes[role] - least[role], role))
        sizes[role] -= 1


def sized(job: JobDemand, sizes: dict[str, int]) -> JobDemand:
    """The demand with so many tasks of each elastic role."""
    tasks: list[TaskDemand] = []
    done: set[str] = set()
    for task in job.tasks:
        if task.role not in sizes:
            tasks.append(task)
        elif task.role not in done:
            done.add(task.role)
            tasks += [TaskDemand(task.role, index, task.resources) for index in range(sizes[task.role])]
    return job if tuple(tasks) == job.tasks else replace(job, tasks=tuple(tasks))
