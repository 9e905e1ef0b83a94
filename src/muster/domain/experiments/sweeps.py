"""Sweeps: one object with many jobs, its members, which differ in their params and seeds.

What a member gets follows from the plan and its number alone, so that members can be made one after the other, by any
server, without a record of what the others got.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

from muster.domain.experiments.params import as_text, with_params
from muster.domain.jobs import JOB_STATES
from muster.domain.specs import JobSpec, ParamValue

MAX_MEMBERS = 10_000
SEED = "seed"
"""The param that a member gets its seed in."""
_UNIT_BITS = 53


class Scale(StrEnum):
    LINEAR = "linear"
    LOG = "log"


class Goal(StrEnum):
    MIN = "min"
    MAX = "max"

    def is_better(self, one: float, other: float) -> bool:
        return one > other if self is Goal.MAX else one < other

    @property
    def worst(self) -> float:
        return -math.inf if self is Goal.MAX else math.inf

    def best(self, values: Sequence[float]) -> float:
        return max(values) if self is Goal.MAX else min(values)


class StopBy(StrEnum):
    MEDIAN = "median"
    HALVING = "halving"


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers between two bounds, which are among them. Two whole bounds mean whole numbers."""

    low: int | float
    high: int | float
    scale: Scale = Scale.LINEAR

    def at(self, part: float) -> int | float:
        """The number at this part of the way from the lower bound to the upper one, from 0 to below 1."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            if self.scale is Scale.LOG:
                exact = math.exp(math.log(self.low) + part * math.log((self.high + 1) / self.low))
                return min(max(math.floor(exact), self.low), self.high)
            return self.low + math.floor(part * (self.high - self.low + 1))
        if self.scale is Scale.LOG:
            exact = self.low * float(self.high / self.low) ** part
        else:
            exact = self.low + part * (self.high - self.low)
        return min(max(float(f"{exact:.6g}"), float(self.low)), float(self.high))


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[ParamValue, ...]

    def at(self, part: float) -> ParamValue:
        return self.values[math.floor(part * len(self.values))]


@dataclass(frozen=True, slots=True)
class StopEarly:
    """When a running member is stopped because others do better.

    By `median`: at a step from `after_step` on, if its best value so far is worse than the median of what at least
    `members` others had at that step. By `halving`: at the steps `after_step`, `after_step` × `factor` and so on, if it
    is not among the best 1/`factor` of at least `members` that came so far.
    """

    by: StopBy
    after_step: int = 1
    members: int = 3
    factor: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """Which members there are. One of `grid`, `random` and `listed` has something, or only `seeds`."""

    grid: tuple[tuple[str, tuple[ParamValue, ...]], ...] = ()
    random: tuple[tuple[str, Span | Choice], ...] = ()
    samples: int = 0
    seed: int = 0
    """What the random values follow from."""
    listed: tuple[Mapping[str, ParamValue], ...] = ()
    seeds: tuple[int, ...] = ()
    """Each combination is run once with each of them."""
    max_running: int | None = None
    metric: str = ""
    goal: Goal = Goal.MIN
    stop_early: StopEarly | None = None

    @property
    def combinations(self) -> int:
        if self.listed:
            return len(self.listed)
        return self.samples if self.random else math.prod(len(values) for _, values in self.grid)

    @property
    def count(self) -> int:
        return self.combinations * max(1, len(self.seeds))

    @property
    def names(self) -> tuple[str, ...]:
        """The params that the sweep sets, in the order in which they were written."""
        named = [name for name, _ in (*self.grid, *self.random)]
        named += [name for one in self.listed for name in one]
        return tuple(dict.fromkeys([*named, *([SEED] if self.seeds else [])]))

    def values(self, number: int) -> dict[str, ParamValue]:
        """The params that the sweep sets for a member; the first one has number 1."""
        place, repeat = divmod(number - 1, max(1, len(self.seeds)))
        found = self._combination(place)
        return {**found, SEED: self.seeds[repeat]} if self.seeds else found

    def longest_values(self) -> dict[str, ParamValue]:
        """Returns the value of each param with the longest text, for checks of sizes."""
        found: dict[str, list[ParamValue]] = {name: [] for name in self.names}
        for name, values in self.grid:
            found[name] += values
        for name, source in self.random:
            found[name] += source.values if isinstance(source, Choice) else (source.low, source.high)
        for one in self.listed:
            for name, value in one.items():
                found[name].append(value)
        if self.seeds:
            found[SEED] += self.seeds
        return {name: max(values, key=lambda value: len(as_text(value))) for name, values in found.items()}

    def _combination(self, place: int) -> dict[str, ParamValue]:
        if self.listed:
            return dict(self.listed[place])
        if self.random:
            return {name: source.at(_part(self.seed, place, name)) for name, source in self.random}
        found: dict[str, ParamValue] = {}
        for name, values in reversed(self.grid):
            place, index = divmod(place, len(values))
            found[name] = values[index]
        return {name: found[name] for name, _ in self.grid}


def _part(seed: int, place: int, name: str) -> float:
    """A number from 0 to below 1 that is always the same for these, on every machine."""
    digest = sha256(f"{seed}:{place}:{name}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _UNIT_BITS)) / (1 << _UNIT_BITS)


@dataclass(frozen=True, slots=True)
class Sweep:
    """`spec` is what all members share, under the name of the sweep."""

    id: str
    owner: str
    spec: JobSpec
    plan: SweepPlan
    created_at: float
    version: int = 1
    made: int = 0
    """Members 1 to this one have been made."""
    stopped_by: str = ""
    """Who stopped it; nobody if it is empty."""
    ended_at: float | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def wants_more(self) -> bool:
        return not self.stopped_by and self.made < self.plan.count

    def member_name(self, number: int) -> str:
        return f"{self.name}-{number}"


def member_spec(shared: JobSpec, sweep: Sweep, number: int) -> JobSpec:
    """`shared` is the spec of the sweep, or what a cluster has made of it."""
    params = {**sweep.spec.params, **sweep.plan.values(number)}
    return replace(with_params(shared, params), name=sweep.member_name(number))


@dataclass(frozen=True, slots=True)
class MemberValue:
    """What a member has of the sweep's metric: its best value so far, none if no value was finite, and how far its
    newest attempt has come."""

    member: int
    job_id: str
    attempt: int
    value: float | None
    step: int | None
    """The step at which it had the best value."""
    points: int
    last_step: int
    has_diverged: bool = False
    """Whether its newest value is not a finite number."""


def best_of(goal: Goal, values: Sequence[MemberValue]) -> MemberValue | None:
    """Return the best member, or the first of equal ones. Those that have diverged are none of the best."""
    found = [(one.value, one) for one in values if one.value is not None and not one.has_diverged]
    if not found:
        return None
    best = goal.best([value for value, _ in found])
    return min((one for value, one in found if value == best), key=lambda one: one.member)


class SweepState(StrEnum):
    QUEUED = "Queued"
    RUNNING = "Running"
    STOPPING = "Stopping"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


OPEN_SWEEP_STATES = (SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING)
_WAITING = ("Queued", "Held")
_ACTIVE = ("Starting", "Running", "Stopping")


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """How many members are in each state. Those that were deleted count among the made ones only."""

    by_state: Mapping[str, int] = field(default_factory=dict)

    def of(self, *states: str) -> int:
        return sum(self.by_state.get(state, 0) for state in states)

    @property
    def waiting(self) -> int:
        return self.of(*_WAITING)

    @property
    def active(self) -> int:
        return self.of(*_ACTIVE)

    @property
    def is_open(self) -> bool:
        return bool(self.waiting or self.active)

    @property
    def total(self) -> int:
        return self.of(*JOB_STATES)


def sweep_state(sweep: Sweep, counts: MemberCounts) -> SweepState:
    """The state follows from the members. One that failed makes the sweep Failed, once all have ended; members that
    were stopped early, or killed one by one, do not."""
    if sweep.stopped_by:
        return SweepState.STOPPING if counts.is_open else SweepState.CANCELLED
    if counts.is_open or sweep.wants_more:
        has_begun = counts.active or counts.total > counts.waiting
        return SweepState.RUNNING if has_begun else SweepState.QUEUED
    if counts.of("Failed"):
        return SweepState.FAILED
    return SweepState.CANCELLED if counts.total and not counts.of("Succeeded") else SweepState.SUCCEEDED
