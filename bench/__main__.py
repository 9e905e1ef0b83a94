"""`python -m bench [--only NAME ...] [--quick] [--list]`: measure, print one table, keep the figures."""

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from bench.kube.case import CASE as OPERATOR
from bench.kube.submitting import CASE as SUBMITTING
from bench.muster.case import Case
from bench.muster.catalogue import CASES, OPTIONAL
from bench.muster.server import MusterAbsent
from bench.peers.catalogue import PEERS
from bench.peers.figures import Measure, PeerFigures, measure
from bench.peers.summary import everything, presence
from bench.pool.catalogue import CASES as POOL
from bench.results import write_results
from bench.scale import FULL, QUICK, Scale
from bench.scheduling.catalogue import CASES as SCHEDULING
from bench.slurm.case import CASE as SLURM
from bench.table import Row, Sheet, Unit, render

INTERRUPTED = 130
ENGINES = (OPERATOR, SUBMITTING, SLURM)


def main() -> int:
    arguments = _arguments()
    if arguments.list:
        _list()
        return 0
    signal.signal(signal.SIGTERM, _as_interrupt)
    scale = QUICK if arguments.quick else FULL
    cases = _cases(arguments.only, with_demo=arguments.with_demo)
    figures: dict[str, PeerFigures] = {}
    parts: list[Row | Sheet] = []
    code = 0
    try:
        for name, measures in _wanted(arguments.only, cases).items():
            if name in arguments.without:
                parts.append(Row("LEFT OUT", Unit.COUNT, peer=name, note="by --without"))
                continue
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            figures[name] = measure(PEERS[name](), measures, scale)
            parts.extend(presence(figures[name]))
            if name in arguments.only:
                parts.extend(everything(figures[name]))
        for case in cases:
            print(f"measuring muster: {case.summary} ...", file=sys.stderr, flush=True)
            parts.extend(_run(case, scale, figures))
    except KeyboardInterrupt:
        print("interrupted; this is what was measured before", file=sys.stderr)
        code = INTERRUPTED
    print(render(parts))
    print(f"\nfigures kept in {write_results(scale, figures, parts)}")
    return code


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Muster beside real peers")
    parser.add_argument("--only", action="append", default=[], choices=[*_case_names(), *PEERS], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="smaller counts, for a look while working")
    parser.add_argument("--without", action="append", default=[], choices=[*PEERS], help="leave this peer out")
    parser.add_argument("--with-demo", action="store_true", help="also time `make demo` in a fresh clone")
    parser.add_argument("--list", action="store_true", help="list what can be measured and stop")
    return parser.parse_args()


def _case_names() -> list[str]:
    return [case.name for case in (*CASES, *POOL, *SCHEDULING, *ENGINES, *OPTIONAL)]


def _list() -> None:
    for case in (*CASES, *POOL, *SCHEDULING, *ENGINES, *OPTIONAL):
        print(f"{case.name:15} {case.summary}")
    for name, peer in PEERS.items():
        print(f"{name:15} peer: {peer().method}")


def _cases(only: Sequence[str], *, with_demo: bool) -> list[Case]:
    if only:
        return [case for case in (*CASES, *POOL, *SCHEDULING, *ENGINES, *OPTIONAL) if case.name in only]
    return [*CASES, *POOL, *SCHEDULING, *ENGINES, *(OPTIONAL if with_demo else ())]


def _wanted(only: Sequence[str], cases: Sequence[Case]) -> dict[str, frozenset[Measure]]:
    """What to measure of each peer: all of it when it is named, else what the chosen cases compare with."""
    wanted: dict[str, frozenset[Measure]] = {name: frozenset(Measure) for name in PEERS if name in only}
    for case in cases:
        for name, measures in case.peers.items():
            wanted[name] = wanted.get(name, frozenset()) | measures
    return {name: wanted[name] for name in PEERS if name in wanted}


def _run(case: Case, scale: Scale, figures: dict[str, PeerFigures]) -> Sequence[Row | Sheet]:
    try:
        return case.run(scale, figures)
    except (MusterAbsent, RuntimeError, TimeoutError, OSError) as problem:
        reason = Row(f"NOT MEASURED: {case.name}", Unit.COUNT, note=f"{type(problem).__name__}: {problem}")
        return [reason, *case.bars(figures)]


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
