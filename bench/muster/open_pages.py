"""Many open pages beside a steady load of jobs: what they cost the server, and how soon they show a change.

Half of the pages are lists, half are pages of one job each, and each asks for what a real one asks for
(`page_requests`). Half of the jobs are submitted, half are the held jobs of the job pages, which are let go one after
another, so that every page has something to show. The same load runs without pages and with them in turns, because a
machine is seldom as quiet for both.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import Address, MusterServer, first_line
from bench.muster.streams import Connection
from bench.peers import children
from bench.peers.venvs import ROOT
from bench.scale import FULL, Scale
from bench.table import Row, Unit, at_least, at_most, ratio_at_most

USERS = 10
"""They own the jobs in turn, and look at pages in turn."""
ROUNDS = 4
OPEN_WITHIN_S = 120.0
SHOW_WITHIN_S = 5.0
"""After the last job, before the pages are closed."""
WITHOUT = "without pages"
COST = Row("open pages: CPU of the server for them", Unit.PERCENT, bar=at_most(50))
SUBMIT = Row("open pages: POST latency, p50", Unit.MILLISECONDS, peer=WITHOUT, bar=ratio_at_most(1.3))
DELAY = Row("open pages: end of a job on every screen, p99", Unit.MILLISECONDS, bar=at_most(1000))
WHOLE = Row("open pages: screens that showed every end", Unit.PERCENT, bar=at_least(100))


@dataclass(frozen=True)
class Held:
    job_id: str
    owner: int
    """The index of the user."""


@dataclass
class Load:
    """What was measured while the load ran, in all rounds together."""

    jobs: int = 0
    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    server_s: float = 0.0

    @property
    def submit_ms(self) -> float:
        return 1000 * percentile(self.latencies_s, 50)

    @property
    def server_cores(self) -> float:
        return self.server_s / self.seconds

    @property
    def per_s(self) -> float:
        return self.jobs / self.seconds


@dataclass
class Shown:
    """What the pages have shown, in all rounds together."""

    delays_s: list[float] = field(default_factory=list)
    whole: int = 0
    """Pages that showed the end of every job that they should show."""
    pages: int = 0
    cpu_s: float = 0.0
    received_bytes: int = 0
    resyncs: int = 0
    closed: int = 0
    asked: int = 0
    refused: int = 0


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = MusterServer()
    pages = scale.open_pages
    connections = 3 * pages + 100
    limits = {"connections": connections, "connectionsPerAddress": connections, "streams": 2 * pages}
    (server.home / "config.yaml").write_text(json.dumps({"limits": limits}))
    alone, beside, shown = Load(), Load(), Shown()
    with server:
        tokens = _users(server.address)
        watched = _hold(server.address, tokens, "watched", pages // 2)
        others = _hold(server.address, tokens, "others", pages // 2)
        for number in range(ROUNDS):
            asyncio.run(_load(server, tokens, f"alone-{number}", others[number::ROUNDS], scale, alone))
            let_go = watched[number::ROUNDS]
            with _open(server, tokens, watched, pages - len(watched)) as seen:
                asyncio.run(_load(server, tokens, f"beside-{number}", let_go, scale, beside))
                time.sleep(SHOW_WITHIN_S)
            _add(shown, seen, [*(int(job in let_go) for job in watched), *[2 * len(let_go)] * (pages - len(watched))])
    return _rows(alone, beside, shown)


def _users(address: Address) -> list[str]:
    client = MusterClient(address)
    return [client.add_user(f"reader{index}") for index in range(USERS)]


def _hold(address: Address, tokens: Sequence[str], name: str, count: int) -> list[Held]:
    """New jobs that are held."""
    clients = [MusterClient(Address(address.host, address.port, token)) for token in tokens]
    specs = [{"name": f"{name}-{index}", "command": "true", "hold": True} for index in range(count)]
    owners = [index % USERS for index in range(count)]
    return [Held(clients[owner].submit(spec)["id"], owner) for owner, spec in zip(owners, specs, strict=True)]


@contextmanager
def _open(server: MusterServer, tokens: Sequence[str], held: Sequence[Held], lists: int) -> Iterator[dict[str, Any]]:
    """Opens the pages in a process of its own. What they have shown is known when the block has ended."""
    jobs = [*(job.job_id for job in held), *[None] * lists]
    topics = [f"job:{job_id}" if job_id else "jobs" for job_id in jobs]
    streams = [
        {"path": f"/api/v1/live?topics={topic},alerts", "token": tokens[index % USERS], "job": job_id}
        for index, (topic, job_id) in enumerate(zip(topics, jobs, strict=True))
    ]
    program = [sys.executable, "-m", "bench.muster.page_readers"]
    log = server.home.with_suffix(".pages.log")
    process, given, said = children.start_piped(program, log, {}, ROOT)
    seen: dict[str, Any] = {}
    try:
        wanted = {"host": server.address.host, "port": server.address.port, "streams": streams}
        given.write(json.dumps(wanted) + "\n")
        if not first_line(said, OPEN_WITHIN_S):
            raise RuntimeError(f"the pages did not open: {log.read_text()[-300:]}")
        yield seen
        given.close()
        seen |= json.loads(first_line(said, OPEN_WITHIN_S) or "{}")
        if not seen:
            raise RuntimeError(f"the pages said nothing: {log.read_text()[-300:]}")
    finally:
        children.stop(process)
        log.unlink(missing_ok=True)


async def _load(
    server: MusterServer, tokens: Sequence[str], name: str, held: Sequence[Held], scale: Scale, load: Load
) -> None:
    """Submits jobs and lets held ones go, in turn and at a fixed pace, which does not wait for the server."""
    host, port = server.address.host, server.address.port
    connections = [await Connection.open(Address(host, port, token)) for token in tokens]
    queues: list[asyncio.Queue[tuple[float, str, bytes] | None]] = [asyncio.Queue() for _ in connections]
    before, began = server.cpu(), time.monotonic()
    async with asyncio.TaskGroup() as group:
        for connection, queue in zip(connections, queues, strict=True):
            group.create_task(_ask_all(connection, queue, load.latencies_s))
        for index in range(2 * len(held)):
            moment = began + index / scale.open_pages_jobs_per_s
            await asyncio.sleep(max(0.0, moment - time.monotonic()))
            one = held[index // 2]
            spec = {"spec": {"name": f"{name}-{index}", "command": "true"}}
            submitted = ("/api/v1/jobs", json.dumps(spec).encode())
            path, body = (f"/api/v1/jobs/{one.job_id}/resume", b"") if index % 2 else submitted
            queues[one.owner].put_nowait((moment, path, body))
        for queue in queues:
            queue.put_nowait(None)
    load.jobs += 2 * len(held)
    load.seconds += time.monotonic() - began
    load.server_s += (server.cpu() - before).server_s
    for connection in connections:
        connection.close()


async def _ask_all(
    connection: Connection, queue: asyncio.Queue[tuple[float, str, bytes] | None], latencies: list[float]
) -> None:
    while (item := await queue.get()) is not None:
        moment, path, body = item
        await connection.ask("POST", path, body)
        if body:
            latencies.append(time.monotonic() - moment)


def _add(shown: Shown, seen: dict[str, Any], expected: Sequence[int]) -> None:
    shown.delays_s += seen["delaysS"]
    shown.whole += sum(ends >= wanted for ends, wanted in zip(seen["ends"], expected, strict=True))
    shown.pages += len(expected)
    shown.cpu_s += seen["cpuS"]
    shown.received_bytes += seen["receivedBytes"]
    shown.resyncs += seen["resyncs"]
    shown.closed += seen["closed"]
    shown.asked += seen["asked"]
    shown.refused += seen["refused"]


def _rows(alone: Load, beside: Load, shown: Shown) -> Sequence[Row]:
    cost = f"{beside.server_cores:.0%} of a core with them, {alone.server_cores:.0%} without"
    reader = f"the pages' own process {shown.cpu_s / beside.seconds:.0%} of a core"
    asked = f"{shown.asked} requests of pages, {shown.refused} refused"
    pace = f"{beside.per_s:.1f} jobs/s with pages, {alone.per_s:.1f} without"
    half, slowest = percentile(shown.delays_s, 50), max(shown.delays_s)
    delays = f"p50 {1000 * half:.0f} ms, slowest {1000 * slowest:.0f} ms"
    received = f"{shown.received_bytes / beside.seconds / 1e6:.1f} MB/s received"
    whole = f"{shown.whole} of {shown.pages}; {shown.resyncs} resyncs, {shown.closed} closed"
    extra = 100 * (beside.server_cores - alone.server_cores)
    return [
        Row(COST.what, COST.unit, extra, bar=COST.bar, note=f"{cost}; {reader}; {asked}"),
        Row(SUBMIT.what, SUBMIT.unit, beside.submit_ms, WITHOUT, alone.submit_ms, SUBMIT.bar, pace),
        Row(DELAY.what, DELAY.unit, 1000 * percentile(shown.delays_s, 99), bar=DELAY.bar, note=f"{delays}; {received}"),
        Row(WHOLE.what, WHOLE.unit, 100 * shown.whole / shown.pages, bar=WHOLE.bar, note=whole),
    ]


CASE = Case(
    "open-pages",
    f"{FULL.open_pages:,} open pages at {FULL.open_pages_jobs_per_s:.0f} jobs per second",
    run,
    lambda figures: [COST, SUBMIT, DELAY, WHOLE],
)
