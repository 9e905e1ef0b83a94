"""What one job costs, measured in turns with HyperQueue: a load that comes and goes falls on both alike."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.measuring import cpu_seconds, percentile, process_tree
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import Cpu, MusterServer
from bench.muster.starting import start_one
from bench.muster.throughput import run_one_by_one
from bench.peers.hyperqueue import HyperQueue
from bench.peers.peer import PeerAbsent
from bench.scale import Scale
from bench.table import Bar, Row, Unit, at_most, ratio_at_least, ratio_at_most
from bench.workload import Workload

ROUNDS = 5
PEER = HyperQueue.name
CPU_BAR = at_most(5.0)
RATE_BAR = ratio_at_least(0.6)
START_BARS = {50.0: ratio_at_most(1.3), 90.0: ratio_at_most(1.5)}
COUNTED = "HyperQueue's is of one process that is server, worker and client, and of the commands"


@dataclass
class Seen:
    """Of one system: seconds from submission to start, jobs per second in each round, CPU seconds of all jobs."""

    starts_s: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu: Cpu = field(default_factory=Cpu)
    jobs: int = 0

    def start_ms(self, percent: float) -> float | None:
        return 1000 * percentile(self.starts_s, percent) if self.starts_s else None

    @property
    def rate(self) -> float | None:
        return percentile(self.rates, 50) if self.rates else None

    def cpu_ms(self, seconds: float) -> float | None:
        return 1000 * seconds / self.jobs if self.jobs else None


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    ours, theirs = Seen(), Seen()
    peer = HyperQueue()
    try:
        peer.start()
        with MusterServer() as server:
            muster = _Muster(server)
            muster.start_all(1)
            muster.run_all(10)
            peer.submit_to_start(1)
            for _ in range(ROUNDS):
                theirs.starts_s += peer.submit_to_start(scale.starts // ROUNDS)
                ours.starts_s += muster.start_all(scale.starts // ROUNDS)
                _run_theirs(peer, theirs, scale.jobs // ROUNDS)
                _run_ours(muster, ours, scale.jobs // ROUNDS)
    except PeerAbsent as absent:
        raise RuntimeError(f"{PEER}: {absent}") from None
    finally:
        peer.stop()
    return _rows(ours, theirs)


class _Muster:
    def __init__(self, server: MusterServer) -> None:
        self.server = server
        self._client = MusterClient(server.address)
        self._workload = Workload.create(server.home / "bench")
        self._count = 0

    def start_all(self, count: int) -> list[float]:
        return [start_one(self._client, self._workload, f"start-{self._next()}", self._count) for _ in range(count)]

    def run_all(self, count: int) -> float:
        return run_one_by_one(self._client, self._workload, f"many-{self._next()}", count)

    def _next(self) -> int:
        self._count += 1
        return self._count


def _run_ours(muster: _Muster, seen: Seen, jobs: int) -> None:
    before = muster.server.cpu()
    seen.rates.append(muster.run_all(jobs))
    seen.cpu += muster.server.cpu() - before
    seen.jobs += jobs


def _run_theirs(peer: HyperQueue, seen: Seen, jobs: int) -> None:
    before = cpu_seconds(process_tree(*peer.pids()))
    seen.rates.append(peer.run_many(jobs))
    seen.cpu += Cpu(server_s=cpu_seconds(process_tree(*peer.pids())) - before)
    seen.jobs += jobs
    time.sleep(1)  # its client looks for ended jobs once a second


def _rows(ours: Seen, theirs: Seen) -> Sequence[Row]:
    return [
        _compared("CPU per job", ours.cpu_ms(ours.cpu.total_s), theirs.cpu_ms(theirs.cpu.total_s), CPU_BAR, COUNTED),
        Row("CPU per job: server", Unit.MILLISECONDS, ours.cpu_ms(ours.cpu.server_s)),
        Row("CPU per job: agent and shim", Unit.MILLISECONDS, ours.cpu_ms(ours.cpu.agent_s)),
        Row("CPU per job: the command itself", Unit.MILLISECONDS, ours.cpu_ms(ours.cpu.commands_s)),
        Row("jobs per second, one by one", Unit.PER_SECOND, ours.rate, PEER, theirs.rate, RATE_BAR),
        *(
            _compared(f"submit to start, p{percent:.0f}", ours.start_ms(percent), theirs.start_ms(percent), bar)
            for percent, bar in START_BARS.items()
        ),
    ]


def _compared(what: str, ours: float | None, theirs: float | None, bar: Bar, note: str = "") -> Row:
    return Row(what, Unit.MILLISECONDS, ours, PEER, theirs, bar, note)


CASE = Case("cost", "what one job costs, in turns with HyperQueue", run, lambda figures: _rows(Seen(), Seen()))
