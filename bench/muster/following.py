"""Many people following one loud task: each must see every line once, in order, and the server must stay awake."""

import asyncio
import hashlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import Address, MusterServer
from bench.muster.streams import Connection
from bench.scale import Scale
from bench.table import Row, Unit, at_least, at_most

HEALTH_EVERY_S = 0.05
# What a person at the portal notices; the bar asks only that the server stays responsive.
RESPONSIVE_MS = 250.0
PRINTER = """\
import sys, time
rate, seconds, go = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
import os
while not os.path.exists(go):
    time.sleep(0.02)
began, total, done = time.monotonic(), int(rate * seconds), 0
while done < total:
    upto = min(total, int((time.monotonic() - began) * rate))
    sys.stdout.write("".join(f"line {n:08d}\\n" for n in range(done, upto)))
    sys.stdout.flush()
    done = upto
    time.sleep(0.01)
"""
WHOLE = Row("followers that saw every line once, in order", Unit.PERCENT, bar=at_least(100))
AWAKE = Row("/healthz while they follow, p99", Unit.MILLISECONDS, bar=at_most(RESPONSIVE_MS))


@dataclass
class Seen:
    digest: str = ""
    size_bytes: int = 0
    finished_at: float = 0.0


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        script, go = server.home / "printer.py", server.home / "go"
        script.write_text(PRINTER)
        command = [sys.executable, str(script), str(scale.lines_per_s), str(scale.follow_s), str(go)]
        job = MusterClient(server.address).submit({"name": "loud", "command": command})
        seen, health, lag = asyncio.run(_follow(server.address, job["id"], go, scale))
    total = int(scale.lines_per_s * scale.follow_s)
    expected = hashlib.sha256("".join(f"line {n:08d}\n" for n in range(total)).encode()).hexdigest()
    whole = sum(one.digest == expected for one in seen)
    note = f"{whole} of {scale.followers}, {scale.lines_per_s} lines/s for {scale.follow_s:.0f} s"
    return [
        Row(WHOLE.what, WHOLE.unit, 100 * whole / len(seen), bar=WHOLE.bar, note=note),
        Row(AWAKE.what, AWAKE.unit, 1000 * percentile(health, 99), bar=AWAKE.bar, note=f"{len(health)} asked"),
        Row("last follower done after the last line", Unit.SECONDS, lag),
    ]


async def _follow(address: Address, job_id: str, go: Path, scale: Scale) -> tuple[list[Seen], list[float], float]:
    seen = [Seen() for _ in range(scale.followers)]
    health: list[float] = []
    path = f"/api/v1/jobs/{job_id}/logs?follow=true&task={quote('loud-worker-0')}"
    async with asyncio.timeout(scale.follow_s * 10 + 60):
        connections = [await Connection.open(address) for _ in seen]
        asking = asyncio.create_task(_ask_health(await Connection.open(address), health))
        async with asyncio.TaskGroup() as group:
            for connection, one in zip(connections, seen, strict=True):
                group.create_task(_read(connection, path, one))
            go.touch()
            began = time.monotonic()
        asking.cancel()
    last = max(one.finished_at for one in seen)
    return seen, health, last - began - scale.follow_s


async def _read(connection: Connection, path: str, seen: Seen) -> None:
    """A hash of all the text: equal to the expected one only if every line came once and in order."""
    digest = hashlib.sha256()
    async for name, data in connection.events(path):
        if name == "end":
            break
        if "text" in data:
            text = data["text"].encode()
            digest.update(text)
            seen.size_bytes += len(text)
            seen.finished_at = time.monotonic()
    seen.digest = digest.hexdigest()
    connection.close()


async def _ask_health(connection: Connection, seconds: list[float]) -> None:
    while True:
        before = time.monotonic()
        await connection.ask("GET", "/healthz")
        seconds.append(time.monotonic() - before)
        await asyncio.sleep(HEALTH_EVERY_S)


CASE = Case("following", "100 log followers on a task of 5,000 lines/s", run, lambda figures: [WHOLE, AWAKE])
