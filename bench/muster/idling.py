"""What the server and its agent cost while 1,000 jobs wait behind one that holds every CPU."""

import os
import time
from collections.abc import Sequence

from bench.measuring import Footprint, compare
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient, job_spec
from bench.muster.server import MusterServer
from bench.peers.figures import Measure
from bench.scale import Scale
from bench.table import Bar, Row, Unit, at_most
from bench.workload import Workload

MEGABYTE = 1_000_000
CPU_BAR, MEMORY_BAR = at_most(0.5), at_most(150)
PEERS = ("hyperqueue", "slurm", "ray")


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        client = MusterClient(server.address)
        workload = Workload.create(server.home / "bench")
        blocker = {"name": "blocker", "command": ["sleep", "3600"], "resources": {"cpu": os.cpu_count()}}
        client.submit(blocker)
        marks = str(workload.marks_file("idle"))
        specs = [job_spec(f"waiting-{index}", workload.mark_script, marks) for index in range(scale.queued)]
        client.submit_bulk(specs)
        time.sleep(scale.settle_s)
        both = _footprints(server, scale.idle_s)
        _check_waiting(client)
    return _rows(figures, *both)


def _footprints(server: MusterServer, window_s: float) -> tuple[Footprint, Footprint]:
    (own, agent), began = server.processes(), time.monotonic()
    time.sleep(window_s)
    own_after, agent_after = server.processes()
    seconds = time.monotonic() - began
    return compare(own, own_after, seconds), compare(agent, agent_after, seconds)


def _check_waiting(client: MusterClient) -> None:
    if not client.page("limit=1&state=Queued")["items"]:
        raise RuntimeError("no job is queued any more: the blocker did not hold the machine")


def _rows(figures: Figures, server: Footprint | None, agent: Footprint | None) -> Sequence[Row]:
    return [
        _row("idle CPU of the server, jobs queued", Unit.PERCENT, server, CPU_BAR),
        _row("idle memory of the server, jobs queued", Unit.MEGABYTES, server, MEMORY_BAR),
        _row("idle CPU of the agent", Unit.PERCENT, agent, None),
        _row("idle memory of the agent", Unit.MEGABYTES, agent, None),
        *_peer_rows(figures, server, agent),
    ]


def _row(what: str, unit: Unit, seen: Footprint | None, bar: Bar | None) -> Row:
    return Row(what, unit, None if seen is None else _value(seen, unit), bar=bar)


def _value(seen: Footprint, unit: Unit) -> float:
    return seen.cpu_percent if unit is Unit.PERCENT else seen.rss_bytes / MEGABYTE


def _peer_rows(figures: Figures, server: Footprint | None, agent: Footprint | None) -> list[Row]:
    """The peers idle with an empty queue: easier than what Muster is asked."""
    rows = []
    for name in PEERS:
        peer = figures.get(name)
        if peer is None or peer.footprint is None:
            continue
        for what, unit in (("idle CPU, all processes", Unit.PERCENT), ("idle memory, all", Unit.MEGABYTES)):
            both = None if server is None or agent is None else _value(server, unit) + _value(agent, unit)
            note = f"peer: {peer.footprint.processes} processes, empty queue"
            rows.append(Row(what, unit, both, peer.name, _value(peer.footprint, unit), note=note))
    return rows


CASE = Case(
    name="idling",
    summary="an idle server with 1,000 queued jobs",
    run=run,
    bars=lambda figures: _rows(figures, None, None),
    peers={name: frozenset({Measure.IDLE}) for name in PEERS},
)
