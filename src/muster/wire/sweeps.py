"""Turns the `sweep` of a job spec into a SweepPlan, or into what is wrong with it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from muster.domain.errors import Problem
from muster.domain.experiments.sweeps import MAX_MEMBERS, SEED, Choice, Goal, Span, StopEarly, SweepPlan
from muster.wire.sweep_schema import SpanIn, StopEarlyIn, SweepIn

_SOURCES = ("grid", "random", "list")
_LARGEST = 10**100
"""The largest bound: what is drawn between them must be a number that a computer can calculate with."""
_LONGEST_NAME = 63
"""The longest name of a job, and so of a member."""


@dataclass(frozen=True, slots=True)
class SweepReading:
    """What a spec says of its sweep. There is no plan if its keys or values are wrong, which the models report."""

    plan: SweepPlan | None
    names: Mapping[str, Any]
    """The params that members get, each with the value that is longest as a text."""


def sweep_in(data: Mapping[str, Any]) -> SweepReading | None:
    """Returns None if the spec has no sweep."""
    written = data.get("sweep")
    if written is None:
        return None
    try:
        plan = _plan(SweepIn.model_validate(written))
    except ValidationError:
        return SweepReading(None, dict.fromkeys(_names_in(written), ""))
    return SweepReading(plan, plan.longest_values())


def with_sweep_params(data: Mapping[str, Any], reading: SweepReading) -> dict[str, Any]:
    """The spec as if it set the params that its members get, so that everything else can be checked."""
    params = data.get("params")
    if params is not None and not isinstance(params, Mapping):
        return dict(data)
    return {**data, "params": {**reading.names, **(params or {})}}


def sweep_checks(data: Mapping[str, Any], reading: SweepReading, given: Collection[str]) -> Iterator[Problem]:
    """Rules between the keys of a sweep. `given` are params that somebody has set for the whole sweep."""
    for name in given:
        if name in reading.names:
            yield Problem(f"params.{name}", "is set by the sweep", "leave it out, or take it out of `sweep`")
    if data.get("hold") is True:
        yield Problem("hold", "a sweep cannot be submitted on hold", "use `sweep.maxRunning` to begin with few members")
    written = data["sweep"]
    if isinstance(written, Mapping):
        yield from _sources(written)
        yield from _metric(written)
    if reading.plan is not None:
        yield from _spans(reading.plan)
        yield from _listed(reading.plan, data.get("params"))
        yield from _counted(reading.plan, data.get("name"))


def _sources(written: Mapping[str, Any]) -> Iterator[Problem]:
    used = [key for key in _SOURCES if written.get(key) is not None]
    if not used and written.get("seeds") is None:
        hint = "write `grid`, `random` or `list` with params, or `seeds`"
        yield Problem("sweep", "says nothing that members differ in", hint)
    for key in used[1:]:
        yield Problem(f"sweep.{key}", f"stands beside sweep.{used[0]}", "choose one; `list` can say everything")
    if "random" in used and written.get("samples") is None:
        yield Problem("sweep.samples", "is required with `random`", "write how many members there are: samples: 20")
    for key in ("samples", "seed"):
        if "random" not in used and written.get(key) is not None:
            hint = "`seeds` runs each member with several seeds" if key == "seed" else ""
            yield Problem(f"sweep.{key}", "is only for `random`", hint)
    if written.get("seeds") is not None and SEED in _names_in(written, without_seeds=True):
        yield Problem("sweep.seeds", f"sets the param `{SEED}`, which the sweep sets too", "choose one of them")
    if isinstance(written.get("seeds"), int) and not 1 <= written["seeds"] <= MAX_MEMBERS:
        yield Problem("sweep.seeds", f"is {written['seeds']}", f"from 1 to {MAX_MEMBERS}")


def _metric(written: Mapping[str, Any]) -> Iterator[Problem]:
    if written.get("metric") is not None and written.get("goal") is None:
        yield Problem("sweep.goal", "is required with `metric`", "`min` if small values are good, `max` if large ones")
    for key in ("goal", "stopEarly"):
        if written.get(key) is not None and written.get("metric") is None:
            yield Problem(f"sweep.{key}", "needs a metric", "write `metric: NAME`, as the job logs it")


def _spans(plan: SweepPlan) -> Iterator[Problem]:
    for name, span in plan.random:
        if not isinstance(span, Span):
            continue
        far = next((key for key, one in (("min", span.low), ("max", span.high)) if abs(one) > _LARGEST), None)
        if far is not None:
            yield Problem(f"sweep.random.{name}.{far}", "is too large to draw numbers from", "at most 1e100")
        elif span.low >= span.high:
            yield Problem(f"sweep.random.{name}", f"min is {span.low} and max is {span.high}", "min must be less")
        elif span.scale == "log" and span.low <= 0:
            yield Problem(f"sweep.random.{name}.min", f"is {span.low}", "with `scale: log` it must be more than 0")


def _listed(plan: SweepPlan, params: Any) -> Iterator[Problem]:
    """A param that only some entries set must have a value for the others."""
    defaults = params if isinstance(params, Mapping) else {}
    names = [name for name in plan.names if name not in defaults and name != SEED]
    for place, one in enumerate(plan.listed):
        for name in names:
            if name not in one:
                hint = f"give it a value here, or a default one in `params.{name}`"
                yield Problem(f"sweep.list[{place}]", f"does not set {name}, as others do", hint)
                return


def _counted(plan: SweepPlan, name: Any) -> Iterator[Problem]:
    if plan.count > MAX_MEMBERS:
        yield Problem("sweep", f"has {plan.count} members", f"at most {MAX_MEMBERS}; `random` takes some of them")
    elif isinstance(name, str) and len(f"{name}-{plan.count}") > _LONGEST_NAME:
        most = _LONGEST_NAME - len(f"-{plan.count}")
        hint = f"at most {most} characters, since members are called NAME-{plan.count}"
        yield Problem("name", "is too long for a sweep", hint)


def _names_in(written: Any, *, without_seeds: bool = False) -> list[str]:
    if not isinstance(written, Mapping):
        return []
    found = [name for key in ("grid", "random") if isinstance(one := written.get(key), Mapping) for name in one]
    entries = written.get("list")
    for entry in entries if isinstance(entries, list) else ():
        found += entry if isinstance(entry, Mapping) else ()
    if written.get("seeds") is not None and not without_seeds:
        found.append(SEED)
    return list(dict.fromkeys(map(str, found)))


def _plan(model: SweepIn) -> SweepPlan:
    seeds = model.seeds
    return SweepPlan(
        grid=tuple((name, tuple(values)) for name, values in (model.grid or {}).items()),
        random=tuple((name, _source(values)) for name, values in (model.random or {}).items()),
        samples=model.samples or 0,
        seed=model.seed if model.seed is not None else -1,
        listed=tuple(model.listed or ()),
        seeds=tuple(range(1, min(seeds, MAX_MEMBERS + 1) + 1)) if isinstance(seeds, int) else tuple(seeds or ()),
        max_running=model.max_running,
        metric=model.metric or "",
        goal=model.goal or Goal.MIN,
        stop_early=None if model.stop_early is None else _stop_early(model.stop_early),
    )


def _source(values: Any) -> Span | Choice:
    return Span(values.min, values.max, values.scale) if isinstance(values, SpanIn) else Choice(tuple(values))


def _stop_early(model: StopEarlyIn) -> StopEarly:
    return StopEarly(model.by, model.after_step, model.members, model.factor)
