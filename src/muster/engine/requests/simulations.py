"""Simulations that people ask for: what they would like to know of their own history. They run beside the server, one
for each person and few in all, and their results are kept in memory for a while."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from muster.domain.errors import Invalid, MusterError, NotFound, Problem, TooMany, Unavailable
from muster.domain.experiments.past_jobs import PastJob, job_so_far
from muster.domain.simulations import Asked, AskedVariant, Simulation, SimulationState
from muster.domain.usage.usage_report import ReportWindow
from muster.engine.context import Context
from muster.engine.requests.simulated_nodes import gpus_of, nodes_of, with_more
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.ports.simulating import SimulationPlan, Simulator, Variant
from muster.ports.store import Change

MOST_JOBS = 20_000
"""How many jobs are replayed. Of more, those that still run, and those that ended last."""
MOST_AT_ONCE = 2
_KEPT_EACH = 10
_KEPT = 100
POINTS = 300
"""How many points a curve has at most."""


@dataclass(slots=True)
class Simulations:
    """`simulator` is None where the server has none, such as in tests."""

    simulator: Simulator | None = None
    _known: dict[str, Simulation] = field(default_factory=dict)
    """The simulations by their ids, oldest first."""
    _tasks: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)
    """Those that run."""

    async def start(self, context: Context, asked: Asked, by: str, *, sees_all: bool) -> Simulation:
        """Begin a simulation. Without `sees_all`, only jobs of the person who asks are replayed. Raises Invalid if
        there is nothing to replay, and TooMany and Unavailable if too many run already."""
        if self.simulator is None:
            raise Unavailable("this server has no simulator")
        self._refuse_too_many(by)
        made = Simulation(new_id(), by, asked, context.clock())
        self._keep(made)
        try:
            plan, running, is_cut = await _plan(context, asked, None if sees_all and not asked.only_own else by)
            await context.apply(Change(events=[audit_event("simulation.start", by, context.clock(), id=made.id)]))
        except BaseException:
            del self._known[made.id]
            raise
        self._set(made.id, jobs=len(plan.jobs), running=running, is_cut=is_cut)
        self._tasks[made.id] = asyncio.create_task(self._run(context, self.simulator, made.id, plan))
        return self._known[made.id]

    def visible(self, owner: str | None) -> list[Simulation]:
        """Those of one person, or of all, newest first."""
        return [one for one in reversed(self._known.values()) if owner in (None, one.owner)]

    def find(self, simulation_id: str) -> Simulation:
        found = self._known.get(simulation_id)
        if found is None:
            raise NotFound(f"there is no simulation {simulation_id!r}", hint="the server keeps only the newest ones")
        return found

    async def remove(self, context: Context, simulation: Simulation, by: str) -> None:
        """One that runs is ended."""
        await context.apply(Change(events=[audit_event("simulation.remove", by, context.clock(), id=simulation.id)]))
        self._known.pop(simulation.id, None)
        task = self._tasks.pop(simulation.id, None)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def aclose(self) -> None:
        """End what still runs."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, context: Context, simulator: Simulator, made: str, plan: SimulationPlan) -> None:
        try:
            result = await simulator.run(plan, self._teller(made))
            self._set(made, state=SimulationState.DONE, progress=1.0, ended_at=context.clock(), result=result)
        except MusterError as error:
            words = f"{error.message}; {error.hint}" if error.hint else error.message
            self._set(made, state=SimulationState.FAILED, ended_at=context.clock(), error=words)
        finally:
            self._tasks.pop(made, None)

    def _teller(self, made: str) -> Callable[[float], None]:
        return lambda share: self._set(made, progress=min(1.0, max(0.0, share)))

    def _set(self, simulation_id: str, **fields: object) -> None:
        if simulation_id in self._known:
            self._known[simulation_id] = replace(self._known[simulation_id], **fields)  # type: ignore[arg-type]

    def _refuse_too_many(self, by: str) -> None:
        running = [one for one in self._known.values() if one.state is SimulationState.RUNNING]
        if any(one.owner == by for one in running):
            raise TooMany(
                "a simulation of yours runs already", hint="wait for its end, or remove it", retry_after_s=5.0
            )
        if len(running) >= MOST_AT_ONCE:
            raise Unavailable(f"{len(running)} simulations run already, and no more at once", retry_after_s=10.0)

    def _keep(self, made: Simulation) -> None:
        self._known[made.id] = made
        own = [one for one in self._known.values() if one.owner == made.owner]
        for one in (*_oldest_ended(own, _KEPT_EACH), *_oldest_ended(self._known.values(), _KEPT)):
            self._known.pop(one.id, None)


def _oldest_ended(known: Iterable[Simulation], kept: int) -> list[Simulation]:
    every = list(known)
    ended = [one for one in every if one.state is not SimulationState.RUNNING]
    return ended[: max(0, len(every) - kept)]


async def _plan(context: Context, asked: Asked, owner: str | None) -> tuple[SimulationPlan, int, bool]:
    """The plan, how many of its jobs still run, and whether jobs were left out."""
    nodes = nodes_of(context.nodes(asked.cluster))
    if not nodes:
        raise _refused("cluster", f"{asked.cluster} has no node that is known", "see `muster get nodes`")
    variants = [Variant(_title(one), one.policy, with_more(nodes, one.more_gpus)) for one in asked.variants]
    window = ReportWindow(asked.since, asked.until)
    running = _running(context, window, asked.cluster, owner)  # before those that have ended, so that none is missed
    ended = await context.store.past_jobs(window, asked.cluster, owner, limit=MOST_JOBS + 1)
    jobs = [*({job.id: job for job in running} | {job.id: job for job in ended}).values()]
    if not jobs:
        raise _refused("since", "no job of this time has run on the cluster", "choose a longer time")
    kept, is_cut = jobs[:MOST_JOBS], len(jobs) > MOST_JOBS
    still_running = len({job.id for job in running} - {job.id for job in ended})
    plan = SimulationPlan(kept, variants, asked.durations, asked.preemption_cost, POINTS, gpus_of(nodes))
    return plan, still_running, is_cut


def _running(context: Context, window: ReportWindow, cluster: str, owner: str | None) -> list[PastJob]:
    """Jobs of the window that have begun and not ended."""
    jobs = (entry.job for entry in context.open_jobs.entries())
    mine = (job for job in jobs if job.cluster == cluster and owner in (None, job.owner))
    found = (job_so_far(job, context.clock()) for job in mine if window.since <= job.created_at < window.until)
    return [job for job in found if job is not None]


def _refused(path: str, message: str, hint: str) -> Invalid:
    return Invalid("there is nothing to simulate", problems=(Problem(path, message, hint),))


def _title(variant: AskedVariant) -> str:
    if variant.title:
        return variant.title
    more = ", ".join(f"{count:+d} {model}" for model, count in sorted(variant.more_gpus.items()) if count)
    return f"{variant.policy}, {more}" if more else variant.policy
