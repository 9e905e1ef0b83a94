"""How good the schedules are: policies beside each other on traces of others, at three prices of a preemption."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.scheduling.lines import NOISY_SHORTEST, Line, line, lines
from bench.scheduling.replaying import COLUMNS, SEEDS, Replay, Replayed, cells, mean_of, replay_all, written
from bench.table import Bar, Row, Sheet, Unit, at_least, at_most
from muster.simulation.metrics import Summary

COSTS = ("0", "helios", "checkpoint:30m")
"""Of a preemption: nothing; 7, 30 or 60 s by size of the gang; the work since a checkpoint, one every 30 minutes."""
HEAD = ("policy", "durations", "preemption", *(title for _, title in COLUMNS), "source")
LAS, ORACLE = "2D-LAS, best thresholds", "SRSF, exact: the oracle"
RUN_BAR = at_most(60)


@dataclass(frozen=True)
class Setting:
    trace: str
    nodes: str
    first: int | None = None
    """Only the first so many jobs, which is not what the lines of others are about."""


SETTINGS = (
    Setting("philly82k", "80x8"),
    Setting("philly82k", "64x8"),
    Setting("muri_trace3", "8x8"),
    Setting("muri_trace1", "8x8"),
    Setting("tiresias60", "4x4"),
)
PHILLY, PHILLY_512, MURI3 = SETTINGS[:3]
FEW_NODES = "20x8"
"""Which the beginning of philly82k fills."""


@dataclass(frozen=True)
class Variant:
    """A policy, what it is told of durations, and what a preemption costs. Noisy ones stand for the mean of seeds."""

    policy: str
    durations: str
    cost: str

    def replays(self, setting: Setting) -> list[Replay]:
        one = Replay(setting.trace, setting.nodes, self.policy, self.durations, self.cost, first=setting.first)
        if self.durations != "noisy":
            return [one]
        return [replace(one, durations=f"noisy:{seed}") for seed in SEEDS]


VARIANTS = (
    Variant("fifo", "unknown", "0"),
    Variant("first-fit", "unknown", "0"),
    Variant("easy", "exact", "0"),
    Variant("ssf", "exact", "0"),
    *(Variant("srsf", "exact", cost) for cost in COSTS),
    *(Variant("las", "unknown", cost) for cost in COSTS),
    *(Variant("default", "unknown", cost) for cost in COSTS),
    Variant("default", "noisy", "none"),
    Variant("ssf", "noisy", "none"),
)
UNKNOWN, NOISY = Variant("default", "unknown", "0"), Variant("default", "noisy", "none")
Found = dict[tuple[Setting, Variant], Summary]


@dataclass(frozen=True)
class Held:
    """A bar: of which run which figure."""

    what: str
    setting: Setting
    variant: Variant
    key: str
    bar: Bar | None
    peer: str = ""
    theirs: float | None = None
    unit: Unit = Unit.SECONDS


HELD = (
    Held("philly82k, 640 GPUs, unknown: mean JCT", PHILLY, UNKNOWN, "mean_jct", at_most(16_500, 15_500), LAS, 16_541),
    Held("philly82k, 640 GPUs, unknown: mean JCT", PHILLY, UNKNOWN, "mean_jct", None, ORACLE, 14_070),
    Held("philly82k, 640 GPUs, unknown: p99 queue", PHILLY, UNKNOWN, "p99_queue", at_most(36_000), LAS, 5_399),
    Held("philly82k, 640 GPUs, unknown: p99 JCT", PHILLY, UNKNOWN, "p99_jct", at_most(409_169), LAS, 409_170),
    Held(
        "philly82k, 640 GPUs, noisy, no preemption: mean JCT",
        PHILLY,
        NOISY,
        "mean_jct",
        at_most(NOISY_SHORTEST, 16_200),
        "shortest first, the same noise",
        NOISY_SHORTEST,
    ),
    Held("philly82k, 512 GPUs, unknown: mean JCT", PHILLY_512, UNKNOWN, "mean_jct", at_most(30_000, 21_000), LAS),
    Held("philly82k, 512 GPUs, unknown: mean JCT", PHILLY_512, UNKNOWN, "mean_jct", None, ORACLE),
    Held("muri_trace3, unknown: mean JCT", MURI3, UNKNOWN, "mean_jct", at_most(312_870, 250_000), "2D-LAS"),
    Held("muri_trace3, unknown: mean JCT", MURI3, UNKNOWN, "mean_jct", None, "SRSF, exact, count: the oracle"),
    Held(
        "muri_trace3, unknown: GPUs busy while jobs wait",
        MURI3,
        UNKNOWN,
        "busy_while_waiting",
        at_least(94, 97),
        unit=Unit.PERCENT,
    ),
)


def run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    settings: Sequence[Setting] = SETTINGS
    variants: Sequence[Variant] = VARIANTS
    if scale.trace_jobs:
        variants = [variant for variant in VARIANTS if variant.cost not in COSTS[1:]]
        settings = (Setting(PHILLY.trace, FEW_NODES, scale.trace_jobs), MURI3, SETTINGS[-1])
    asked = [(s, variant, each) for s in settings for variant in variants for each in variant.replays(s)]
    done = replay_all([each for _, _, each in asked])
    summaries: dict[tuple[Setting, Variant], list[Summary]] = {}
    for (setting, variant, _), one in zip(asked, done, strict=True):
        summaries.setdefault((setting, variant), []).append(one.summary)
    found = {which: mean_of(seeds) for which, seeds in summaries.items()}
    return [*_held(found), slowest(done), *(_sheet(setting, found) for setting in settings)]


def _held(found: Found) -> list[Row]:
    rows = []
    for held in HELD:
        summary = found.get((held.setting, held.variant))
        value = None if summary is None else summary[held.key]
        if value is not None and held.unit is Unit.PERCENT:
            value *= 100
        note = "" if summary is not None else "only with the whole trace"
        rows.append(Row(held.what, held.unit, value, held.peer, _theirs(held), held.bar, note))
    return rows


def _theirs(held: Held) -> float | None:
    if held.theirs is not None or not held.peer:
        return held.theirs
    return line(held.setting.trace, held.setting.nodes, held.peer).mean_jct


def slowest(done: Sequence[Replayed]) -> Row:
    longest = max((one for one in done if one.replay.trace == PHILLY.trace), key=lambda one: one.summary["cpu_s"])
    each = longest.replay
    note = f"of one core: {each.policy}, {each.durations}, preemption {each.cost}, {each.nodes}"
    if each.first is not None:
        note += f"; the first {each.first:,} jobs only"
    return Row("philly82k, the slowest run", Unit.SECONDS, longest.summary["cpu_s"], bar=RUN_BAR, note=note)


def _sheet(setting: Setting, found: Found) -> Sheet:
    title = f"{setting.trace} on {setting.nodes}"
    if setting.first is not None:
        title += f", the first {setting.first:,} jobs only"
    ours = [
        (v.policy, _durations(v), v.cost, *cells(found[setting, v]), "ours")
        for v in sorted(_variants(setting, found), key=lambda v: found[setting, v]["mean_jct"])
    ]
    return Sheet(title, [HEAD, *ours, *(_line_cells(each) for each in lines(setting.trace, setting.nodes))])


def _variants(setting: Setting, found: Found) -> list[Variant]:
    return [variant for where, variant in found if where == setting]


def _durations(variant: Variant) -> str:
    return f"noisy, mean of {len(SEEDS)}" if variant.durations == "noisy" else variant.durations


def _line_cells(each: Line) -> tuple[str, ...]:
    known = {"mean_jct": each.mean_jct, "p99_jct": each.p99_jct, "p99_queue": each.p99_queue}
    return (each.policy, "", "", *(written(key, known.get(key)) for key, _ in COLUMNS), each.source)


def _bars(figures: Figures) -> Sequence[Row]:
    rows = [Row(held.what, held.unit, None, held.peer, _theirs(held), held.bar) for held in HELD]
    return [*rows, Row("philly82k, the slowest run", Unit.SECONDS, bar=RUN_BAR)]


CASE = Case("traces", "policies on traces of others, beside known lines", run, _bars)
