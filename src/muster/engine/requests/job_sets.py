"""Jobs that are submitted together, and name each other in `after`. No function here has side effects."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from muster.domain.errors import Invalid, Problem
from muster.domain.specs import JobSpec


class SetRefused(Invalid):
    """Some jobs of a set cannot be admitted: what is wrong with each, by its place. None of the set is submitted."""

    def __init__(self, refusals: Mapping[int, Invalid], count: int) -> None:
        jobs = "1 job is" if len(refusals) == 1 else f"{len(refusals)} of {count} jobs are"
        super().__init__(f"{jobs} wrong, so none was submitted", problems=_all_problems(refusals))
        self.refusals = dict(refusals)


def siblings(specs: Sequence[JobSpec], place: int) -> dict[str, int]:
    """The jobs of the set that a job waits for: their names and places. The name of the job itself means an earlier
    job."""
    wanted = {needed.job for needed in specs[place].after}
    return {spec.name: other for other, spec in enumerate(specs) if other != place and spec.name in wanted}


def start_order(specs: Sequence[JobSpec]) -> list[int]:
    """The places of all jobs, each after those that it waits for. Raises SetRefused if they wait for each other."""
    graph = {place: siblings(specs, place).values() for place in range(len(specs))}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle: list[int] = error.args[1]
    first = circle[0]
    words = " after ".join(specs[place].name for place in reversed(circle))
    problem = Problem("after", f"these jobs would wait for each other forever: {words}", "leave one of them out")
    raise SetRefused({first: Invalid("jobs wait for each other", problems=(problem,))}, len(specs)) from None


def repeated_names(names: Mapping[int, str], key: str) -> dict[int, Problem]:
    """What is wrong with each job that has the name of an earlier one, by its place. `key` is how the request calls the
    list of jobs."""
    first: dict[str, int] = {}
    for place in sorted(names):
        first.setdefault(names[place], place)
    hint = "jobs that are submitted together need different names"
    return {
        place: Problem("name", f"{name!r} is also in {key}.{first[name]}", hint)
        for place, name in names.items()
        if name and first[name] != place
    }


def _all_problems(refusals: Mapping[int, Invalid]) -> tuple[Problem, ...]:
    return tuple(problem for place in sorted(refusals) for problem in problems_of(refusals[place]))


def problems_of(refusal: Invalid) -> tuple[Problem, ...]:
    return refusal.problems or (Problem("", refusal.message, refusal.hint),)
