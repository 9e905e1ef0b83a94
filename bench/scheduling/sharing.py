"""Whether sharing wrongs anybody: the virtual clusters of philly82k together, beside each one alone in its quota."""

from collections.abc import Mapping, Sequence

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.scheduling.lines import ALONE_FIFO, MEAN_QUEUES, README
from bench.scheduling.quality import COSTS, RUN_BAR, slowest
from bench.scheduling.replaying import Replay, Replayed, replay_all, written
from bench.table import Row, Sheet, Unit, at_most
from muster.simulation.isolated_runs import WORSE_BY_S
from muster.simulation.metrics import Summary

TRACE, NODES, QUOTA = "philly82k", "83x8", "philly_vc_quota83.csv"
QUEUE_BAR = at_most(MEAN_QUEUES["every VC alone, SRSF"], aim=MEAN_QUEUES["one pool, 2D-LAS"])
WORSE_BAR = at_most(0.8, aim=0.5)
LINE_BAR = at_most(1.0)
HEAD = (
    *("VC", "jobs", "mean queue", "p99 queue", "alone: mean", "alone: p99"),
    *("alone, FIFO: mean", "the same, README", "worse off", "worse off than FIFO"),
)
COST_HEAD = ("what", "preemption", "mean queue", "p99 queue", "mean JCT", "preempted", "lost GPU h", "CPU s", "source")


def run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    first = scale.shared_jobs or None
    shared = [_replay("default", "unknown", cost, first) for cost in COSTS]
    alone = [_replay("default", "unknown", "0", first, apart=True), _replay("fifo", "unknown", "0", first, apart=True)]
    done = replay_all([*shared, *alone], with_ends=True)
    together, own, fifo = done[0], done[-2], done[-1]
    lines = ALONE_FIFO if first is None else {vc: each["mean_queue"] for vc, each in fifo.summary["vcs"].items()}
    note = "" if first is None else f"the first {first:,} jobs only: not what the line is about"
    return [
        Row(
            "philly82k with 11 VCs: mean queue",
            Unit.SECONDS,
            together.summary["mean_queue"],
            "every VC alone, SRSF",
            MEAN_QUEUES["every VC alone, SRSF"],
            QUEUE_BAR if first is None else None,
            note,
        ),
        *_against(together.summary["vcs"], own.summary["vcs"], lines),
        _worse_row(worse_off(together.ends, own.ends), worse_off(together.ends, fifo.ends)),
        slowest(done),
        _sheet(together, own, fifo),
        Sheet("philly82k with 11 VCs, all of them", [COST_HEAD, *_costs(done), *_known()]),
    ]


def worse_off(ends: Mapping[str, float], alone: Mapping[str, float]) -> float:
    """Per cent of the jobs that ended over a minute later than alone."""
    both = ends.keys() & alone.keys()
    return 100 * sum(ends[job] - alone[job] > WORSE_BY_S for job in both) / len(both) if both else 0.0


def _replay(policy: str, durations: str, cost: str, first: int | None, *, apart: bool = False) -> Replay:
    return Replay(TRACE, NODES, policy, durations, cost, first=first, quota=QUOTA, is_apart=apart)


def _against(shared: Mapping[str, Summary], own: Mapping[str, Summary], fifo: Mapping[str, float]) -> list[Row]:
    """The virtual cluster that fares worst, by how many times its queue is that of the line."""
    worst = {vc: times(each["mean_queue"], fifo[vc]) for vc, each in shared.items()}
    vc = max(worst, key=lambda vc: worst[vc])
    above = {
        key: [vc for vc, each in shared.items() if each[key] > own[vc][key]] for key in ("mean_queue", "p99_queue")
    }
    return [
        Row("worst VC: mean queue over its FIFO line", Unit.TIMES, worst[vc], bar=LINE_BAR, note=f"it is {vc}"),
        *(
            Row(f"VCs whose {name} is above our policy's alone", Unit.COUNT, len(above[key]), note=" ".join(above[key]))
            for key, name in (("mean_queue", "mean queue"), ("p99_queue", "p99 queue"))
        ),
    ]


def times(value: float, line: float) -> float:
    """Who does not wait where it would not have waited alone is at its line."""
    return value / line if line else float(value > 0) + 1.0


def _worse_row(own: float | None, fifo: float | None) -> Row:
    note = "" if fifo is None else f"than alone by our own policy; than alone by FIFO {fifo:.2f} %"
    return Row("jobs over 60 s worse off than alone", Unit.PERCENT, own, bar=WORSE_BAR, note=note)


def _sheet(together: Replayed, own: Replayed, fifo: Replayed) -> Sheet:
    lines = []
    for vc, each in together.summary["vcs"].items():
        alone, first_come = own.summary["vcs"][vc], fifo.summary["vcs"][vc]
        queues = (each["mean_queue"], each["p99_queue"], alone["mean_queue"], alone["p99_queue"])
        here = {job: end for job, end in together.ends.items() if together.vcs[job] == vc}
        lines.append(
            (
                vc,
                f"{each['jobs']:,}",
                *(written("queue", value) for value in (*queues, first_come["mean_queue"], ALONE_FIFO.get(vc))),
                f"{worse_off(here, own.ends):.2f} %",
                f"{worse_off(here, fifo.ends):.2f} %",
            )
        )
    return Sheet("philly82k by VC, default policy, durations unknown, free preemption", [HEAD, *lines])


def _costs(done: Sequence[Replayed]) -> list[tuple[str, ...]]:
    keys = ("mean_queue", "p99_queue", "mean_jct", "preemptions", "lost_gpu_h", "cpu_s")
    return [
        (
            f"{'every VC alone' if each.replay.is_apart else 'shared'}, {each.replay.policy}",
            each.replay.cost,
            *(written(key, each.summary[key]) for key in keys),
            "ours",
        )
        for each in done
    ]


def _known() -> list[tuple[str, ...]]:
    return [(what, "0", written("queue", mean), *["-"] * 5, README) for what, mean in MEAN_QUEUES.items()]


def _bars(figures: Figures) -> Sequence[Row]:
    return [
        Row("philly82k with 11 VCs: mean queue", Unit.SECONDS, bar=QUEUE_BAR),
        Row("worst VC: mean queue over its FIFO line", Unit.TIMES, bar=LINE_BAR),
        _worse_row(None, None),
        Row("philly82k, the slowest run", Unit.SECONDS, bar=RUN_BAR),
    ]


CASE = Case("shares", "virtual clusters together, beside each alone", run, _bars)
