"""A job as an experiment: what it was given, what it reported and what it used; and how many of them are compared."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from muster.domain.errors import Invalid
from muster.domain.used_resources import UsageSum
from muster.lib.numbers import as_number

Param = str | int | float | bool
COMMIT_TAGS = ("git.commit", "mlflow.source.git.commit")
COMMIT_LABEL, DIRTY_LABEL = CODE_LABELS = ("git-commit", "git-dirty")
"""What the client says of the code when it submits a job."""


class RunMetric(NamedTuple):
    """The summary of one metric. There are many of them, and a tuple is made fast."""

    points: int
    last_step: int
    last: float
    lowest: float | None
    highest: float | None


class Measured(Protocol):
    """What runs are chosen by."""

    @property
    def id(self) -> str: ...
    @property
    def created_at(self) -> float: ...
    @property
    def params(self) -> Mapping[str, Param]: ...
    @property
    def metrics(self) -> Mapping[str, RunMetric]: ...


AnyRun = TypeVar("AnyRun", bound=Measured)


class RunValues(NamedTuple):
    """What a run is chosen by, and nothing else: many thousands are read to answer with a few."""

    id: str
    created_at: float
    params: Mapping[str, Param]
    metrics: Mapping[str, RunMetric]


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    name: str
    owner: str
    cluster: str
    vc: str
    state: str
    reason: str
    created_at: float
    started_at: float | None
    ended_at: float | None
    ran_s: float
    gpu_m: int
    """Thousandths of a GPU, of all tasks together."""
    package: str | None
    tracking_url: str
    attempt: int
    used: UsageSum | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    """Those of the spec, and those that the program noted."""
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, RunMetric] = field(default_factory=dict)
    """Each metric by its name, of the newest attempt that has reported it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Empty if many are read."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels; if many runs are read, only those that say which commit the code is."""
    running_since: float | None = None
    """When its current attempt began to run; None if it does not run."""

    def as_of(self, now: float) -> "Run":
        """Return the run with its run time up to now, if it still runs."""
        if self.running_since is None:
            return self
        return replace(self, ran_s=self.ran_s + max(0.0, now - self.running_since), running_since=None)

    @property
    def gpu_hours(self) -> float:
        return self.ran_s * self.gpu_m / 1000 / 3600

    def cost(self, gpu_hour_price: float | None) -> float | None:
        return None if gpu_hour_price is None else self.gpu_hours * gpu_hour_price

    @property
    def commit(self) -> str:
        """The commit of the code, if somebody has noted it; with `-dirty` if it was changed since."""
        noted = next((self.tags[name] for name in COMMIT_TAGS if name in self.tags), "")
        return noted or noted_commit(self.labels)


def noted_commit(labels: Mapping[str, str]) -> str:
    if COMMIT_LABEL not in labels:
        return ""
    return labels[COMMIT_LABEL] + ("-dirty" if labels.get(DIRTY_LABEL) == "true" else "")


class Goal(StrEnum):
    MAX = "max"
    MIN = "min"


class Value(StrEnum):
    """Which value of a metric stands for a run."""

    BEST = "best"
    LAST = "last"


def value_of(run: Measured, metric: str, goal: Goal, which: Value = Value.BEST) -> float | None:
    """Returns None if the run has no such metric, or no finite value of it."""
    series = run.metrics.get(metric)
    if series is None:
        return None
    if which is Value.LAST:
        return series.last if math.isfinite(series.last) else None
    return series.highest if goal is Goal.MAX else series.lowest


@dataclass(frozen=True, slots=True)
class BestOfGroup:
    """The best of all runs with one value of a parameter."""

    group: Param | None
    """The value of the parameter; None for runs that do not have it."""
    runs: int
    best: Measured
    value: float
    mean: float


def best_by(runs: Iterable[Measured], metric: str, by: str | None, goal: Goal, which: Value) -> list[BestOfGroup]:
    """The best run of each group, the best group first. Without a parameter, each run is a group of its own."""
    groups: dict[tuple[str, Param | None], list[tuple[float, Measured]]] = {}
    for run in runs:
        value = value_of(run, metric, goal, which)
        if value is not None:
            key = _group(run.params.get(by)) if by else ("run", run.id)
            groups.setdefault(key, []).append((value, run))
    sign = -1.0 if goal is Goal.MAX else 1.0
    found = [_best_of(group if by else None, members, sign) for (_, group), members in groups.items()]
    return sorted(found, key=lambda one: (sign * one.value, one.best.created_at))


def _group(value: Param | None) -> tuple[str, Param | None]:
    """Equal numbers are one group, also if one of them is a text. Python takes True for the number 1."""
    number = as_number(value)
    return (type(value).__name__, value) if number is None else ("number", number)


def _best_of(group: Param | None, members: Sequence[tuple[float, Measured]], sign: float) -> BestOfGroup:
    value, run = min(members, key=lambda one: (sign * one[0], one[1].created_at))
    return BestOfGroup(group, len(members), run, value, math.fsum(one for one, _ in members) / len(members))


_CONDITION = re.compile(r"\s*(?P<name>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>[^<>=\s].*?)\s*")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """Such as `acc>=0.9` or `optimizer=adam`."""

    name: str
    sign: str
    value: str

    def holds(self, found: Param | None) -> bool:
        if found is None:
            return False
        number, wanted = _number(found), _number(self.value)
        if number is not None and wanted is not None:
            return _SIGNS[self.sign](number, wanted)
        is_same = str(found).lower() == self.value.lower()
        return is_same if self.sign == "=" else not is_same if self.sign == "!=" else False


def condition(text: str) -> Condition:
    """Raises Invalid."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise Invalid(f"{text!r} is not a condition", hint="write a name, one of = != < <= > >=, and a value: acc>=0.9")
    return Condition(match["name"], match["sign"], match["value"])


def matching(runs: Iterable[AnyRun], params: Sequence[Condition], metrics: Sequence[Condition]) -> list[AnyRun]:
    """The runs whose parameters and last values of metrics meet all conditions."""
    return [
        run
        for run in runs
        if all(one.holds(run.params.get(one.name)) for one in params)
        and all(one.holds(_last(run, one.name)) for one in metrics)
    ]


def _last(run: Measured, metric: str) -> float | None:
    series = run.metrics.get(metric)
    return None if series is None else series.last


def _number(value: Param) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except ValueError:
        return None
