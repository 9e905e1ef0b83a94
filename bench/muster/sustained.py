"""Single submissions at a fixed pace for a while, durable, with the jobs running meanwhile.

The pace does not wait for the server: a submission's time counts from the moment it was due, so a server that
stalls is seen to stall.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import job_spec
from bench.muster.server import MusterServer
from bench.muster.streams import Connection
from bench.scale import FULL, Scale
from bench.table import Row, Unit, at_least
from bench.workload import Workload, count_marks

CONNECTIONS = 16
# A paced client can reach its pace but not exceed it; a start-up hiccup of one in a hundred is not a miss.
BAR = Row("single submissions per second, sustained", Unit.PER_SECOND, bar=at_least(0.99 * FULL.sustained_per_s))


@dataclass(frozen=True)
class Outcome:
    per_s: float
    latencies_s: list[float]


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        workload = Workload.create(server.home / "bench")
        before, client_before = server.cpu(), time.process_time()
        outcome = asyncio.run(_submit(server, workload, scale))
        ran = count_marks(workload.marks_file("paced"))
        server_cores = (server.cpu() - before).total_s / scale.sustained_s
        client_cores = (time.process_time() - client_before) / scale.sustained_s
    submitted = len(outcome.latencies_s)
    note = (
        f"{submitted:,} accepted in {submitted / outcome.per_s:.1f} s while {ran:,} ran; "
        f"server, agent and tasks {server_cores:.0%} of a core, client {client_cores:.0%}"
    )
    return [
        Row(BAR.what, BAR.unit, outcome.per_s, bar=BAR.bar, note=note),
        *(
            Row(f"its POST latency, p{percent}", Unit.MILLISECONDS, 1000 * percentile(outcome.latencies_s, percent))
            for percent in (50, 99)
        ),
    ]


async def _submit(server: MusterServer, workload: Workload, scale: Scale) -> Outcome:
    marks = str(workload.marks_file("paced"))
    due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    latencies: list[float] = []
    connections = [await Connection.open(server.address) for _ in range(CONNECTIONS)]
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(_post_all(connection, due, latencies))
        for index in range(int(scale.sustained_s * scale.sustained_per_s)):
            moment = began + index / scale.sustained_per_s
            await asyncio.sleep(max(0.0, moment - time.monotonic()))
            spec = job_spec(f"paced-{index}", workload.mark_script, marks)
            due.put_nowait((moment, json.dumps({"spec": spec}).encode()))
        for _ in connections:
            due.put_nowait(None)
    seconds = time.monotonic() - began
    for connection in connections:
        connection.close()
    return Outcome(len(latencies) / max(seconds, scale.sustained_s), latencies)


async def _post_all(
    connection: Connection, due: asyncio.Queue[tuple[float, bytes] | None], latencies: list[float]
) -> None:
    while (item := await due.get()) is not None:
        moment, body = item
        await connection.ask("POST", "/api/v1/jobs", body)
        latencies.append(time.monotonic() - moment)


CASE = Case("sustained", "300 single submissions per second for 30 s", run, lambda figures: [BAR])
