"""How long until a task runs on another machine, against the same task here, `ssh` in a fresh connection, and Slurm.

All in one life of one server, in turns, so that a busy moment of the machine meets all alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.peers.figures import Measure
from bench.pool.hosts import pool_of, round_trip_s, serving
from bench.pool.starting import Start, Starter
from bench.scale import Scale
from bench.table import Bar, Row, Unit, ratio_at_most

HOSTS = 8
SLURM = "slurm-nodes"
LOCAL = "1.3 x local + round trip"
ALLOWED = 1.3


@dataclass
class Seen:
    local: list[Start] = field(default_factory=list)
    remote: list[Start] = field(default_factory=list)
    ssh: list[Start] = field(default_factory=list)
    round_trip_s: float = 0.0


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with pool_of(HOSTS) as pool, serving(pool) as server:
        starter = Starter(server, pool)
        seen = Seen(round_trip_s=round_trip_s(pool[0]))
        ways = ((starter.local, seen.local), (starter.remote, seen.remote), (starter.ssh, seen.ssh))
        for start, _ in ways:
            start()
        for _ in range(scale.starts):
            for start, starts in ways:
                starts.append(start())
    return _rows(figures, seen)


def _rows(figures: Figures, seen: Seen) -> Sequence[Row]:
    remote, local, ssh = _median(seen.remote), _median(seen.local), _median(seen.ssh)
    note = f"round trip {1000 * seen.round_trip_s:.2f} ms, p50 of {len(seen.remote)}"
    return [
        _against_local("submit to start, remote", remote, local, seen.round_trip_s, _started, note),
        _against_local("submit to first line, remote", remote, local, seen.round_trip_s, _line, note),
        _row("submit to start, remote", _of(remote, _started), "local", _of(local, _started), None),
        _row("submit to first line, remote", _of(remote, _line), "local", _of(local, _line), None),
        _row("submit to start, remote", _of(remote, _started), "ssh host cmd", _of(ssh, _started), None),
        _row("submit to first line, remote", _of(remote, _line), "ssh host cmd", _of(ssh, _line), ratio_at_most(1)),
        _against_slurm(figures, _of(remote, _started)),
    ]


def _against_local(
    what: str,
    remote: Start | None,
    local: Start | None,
    round_trip: float,
    figure: Callable[[Start], float],
    note: str,
) -> Row:
    allowed = None if local is None else 1000 * (ALLOWED * figure(local) + round_trip)
    return Row(what, Unit.MILLISECONDS, _of(remote, figure), LOCAL, allowed, ratio_at_most(1), note)


def _against_slurm(figures: Figures, remote_ms: float | None) -> Row:
    peer = figures.get(SLURM)
    theirs = None if peer is None else peer.start_percentile(50)
    note = "" if peer is None else "; ".join(filter(None, (peer.absent or peer.method, *peer.problems)))
    theirs_ms = None if theirs is None else 1000 * theirs
    return Row("submit to start, remote", Unit.MILLISECONDS, remote_ms, "Slurm", theirs_ms, ratio_at_most(1), note)


def _row(what: str, ours: float | None, peer: str, theirs: float | None, bar: Bar | None) -> Row:
    return Row(what, Unit.MILLISECONDS, ours, peer, theirs, bar)


def _median(starts: Sequence[Start]) -> Start | None:
    if not starts:
        return None
    return Start(
        percentile([start.started_s for start in starts], 50), percentile([start.line_s for start in starts], 50)
    )


def _of(start: Start | None, figure: Callable[[Start], float]) -> float | None:
    return None if start is None else 1000 * figure(start)


def _started(start: Start) -> float:
    return start.started_s


def _line(start: Start) -> float:
    return start.line_s


CASE = Case(
    name="remote",
    summary="submit to start on another machine",
    run=run,
    bars=lambda figures: _rows(figures, Seen()),
    peers={SLURM: frozenset({Measure.START})},
)
