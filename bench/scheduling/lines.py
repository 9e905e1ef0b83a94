"""What others did on the same traces: the lines that ours are held to. JCT and queue in seconds.

All are from the README beside the traces, which says how they were had: those of Tiresias from its own simulator to the
last digit, those on philly82k from a simulator of known policies, those on openb2023 from FGD's authors (ATC'23).
"""

from dataclasses import dataclass

TIRESIAS = "Tiresias's own simulator"
README = "README beside the traces"
FGD = "FGD, ATC'23"


@dataclass(frozen=True)
class Exact:
    """A simulator that differs from it in the last digit has a bug."""

    trace: str
    nodes: str
    policy: str
    mean_jct: float
    makespan: float | None = None
    preemptions: int | None = None


@dataclass(frozen=True)
class Line:
    trace: str
    nodes: str
    policy: str
    mean_jct: float
    p99_queue: float | None = None
    p99_jct: float | None = None
    source: str = README


EXACT = (
    Exact("muri_trace3", "8x8", "fifo", 991_167.02, 8_171_961),
    Exact("muri_trace3", "8x8", "srsf", 172_683.74, 8_171_961, 749),
    Exact("muri_trace1", "8x8", "fifo", 10_313_080.67, 23_805_342),
    Exact("muri_trace1", "8x8", "srsf", 952_245.38, 25_662_723),
    Exact("tiresias60", "4x4", "fifo", 200.82),
    Exact("tiresias60", "4x4", "srsf", 195.90),
)

LINES = (
    Line("philly82k", "80x8", "no queueing at all", 13_136),
    Line("philly82k", "80x8", "SRSF, count", 13_504),
    Line("philly82k", "80x8", "SRSF, exact: the oracle", 14_070),
    Line("philly82k", "80x8", "shortest first, exact, no preemption", 16_201, 35_605),
    Line("philly82k", "80x8", "2D-LAS, best thresholds", 16_541, 5_399, 409_170),
    Line("philly82k", "80x8", "2D-LAS, other thresholds, worst", 21_700),
    Line("philly82k", "80x8", "shortest first, noisy, no preemption, best", 17_449),
    Line("philly82k", "80x8", "shortest first, noisy, no preemption, worst", 18_403),
    Line("philly82k", "80x8", "first fit", 24_797),
    Line("philly82k", "80x8", "EASY, exact", 31_315),
    Line("philly82k", "80x8", "FIFO, strict", 124_485, 267_499),
    Line("philly82k", "64x8", "SRSF, exact: the oracle", 18_285),
    Line("philly82k", "64x8", "shortest first, exact, no preemption", 21_074),
    Line("philly82k", "64x8", "shortest first, noisy, no preemption, best", 29_693),
    Line("philly82k", "64x8", "shortest first, noisy, no preemption, worst", 32_342),
    Line("philly82k", "64x8", "2D-LAS, best thresholds", 33_424),
    Line("philly82k", "64x8", "2D-LAS, other thresholds, worst", 124_566),
    Line("philly82k", "64x8", "first fit", 111_275),
    Line("philly82k", "64x8", "EASY, exact", 155_720),
    Line("philly82k", "64x8", "FIFO, strict", 841_624),
    Line("muri_trace3", "8x8", "SRSF, exact, count: the oracle", 172_683.74, source=TIRESIAS),
    Line("muri_trace3", "8x8", "2D-LAS", 312_870, source=TIRESIAS),
    Line("muri_trace3", "8x8", "FIFO, strict, count", 991_167.02, source=TIRESIAS),
    Line("muri_trace1", "8x8", "SRSF, exact, count: the oracle", 952_245.38, source=TIRESIAS),
    Line("muri_trace1", "8x8", "2D-LAS", 3_048_140, source=TIRESIAS),
    Line("muri_trace1", "8x8", "FIFO, strict, count", 10_313_080.67, source=TIRESIAS),
    Line("tiresias60", "4x4", "SRSF, exact, count: the oracle", 195.90, source=TIRESIAS),
    Line("tiresias60", "4x4", "FIFO, strict, count", 200.82, source=TIRESIAS),
)

NOISY_SHORTEST = 17_929.0
"""philly82k on 80 x 8: shortest first with noisy predictions and no preemption, the mean of seeds."""

ALONE_FIFO = {
    "7f04ca": 834_112.0,
    "6214e9": 239_922.0,
    "b436b2": 945_150.0,
    "ed69ec": 260_252.0,
    "e13805": 2_321.0,
    "ee9e8c": 134_077.0,
    "103959": 78_970.0,
    "6c71a0": 940_443.0,
    "11cb48": 1_678_193.0,
    "2869ce": 322_334.0,
    "0e4a51": 1_377_615.0,
}
"""Mean queue of each virtual cluster of philly82k alone in its quota, first come first served."""
MEAN_QUEUES = {
    "every VC alone, FIFO": 688_796.0,
    "every VC alone, SRSF": 15_098.0,
    "one pool, FIFO": 62_163.0,
    "one pool, 2D-LAS": 2_204.0,
    "one pool, SRSF": 655.0,
}
"""All virtual clusters of philly82k together, 83 x 8."""

BEST_FIT_ALLOCATED, FGD_ALLOCATED = 93.08, 95.39
"""Per cent of openb2023's GPUs, at 130 % of demand."""


def line(trace: str, nodes: str, policy: str) -> Line:
    return next(each for each in LINES if (each.trace, each.nodes, each.policy) == (trace, nodes, policy))


def lines(trace: str, nodes: str) -> list[Line]:
    """The best first."""
    return sorted((each for each in LINES if (each.trace, each.nodes) == (trace, nodes)), key=lambda e: e.mean_jct)
