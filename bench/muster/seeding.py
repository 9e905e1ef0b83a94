"""Fills a server's database with finished jobs, while it is stopped.

The rows are copies of a job that really ran, so that they weigh what history weighs; only ids, names and times are
new. It goes through the store's own tables, never through SQL of its own.
"""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, insert, select

from bench.muster.client import MusterClient, job_spec
from bench.muster.server import MusterServer
from bench.workload import Workload
from muster.lib.ids import new_id
from muster.stores.tables import jobs, metric_series, tasks

BATCH = 2000
APART_S = 1.0
METRICS = ("loss", "acc", "val/acc")
LEARNING_RATES = 50


def seed_finished(server: MusterServer, count: int) -> None:
    """Leave the running server with `count` finished jobs more than it had."""
    client = MusterClient(server.address)
    done = _pattern(client, server)
    client.close()
    server.stop()
    _copy(server.home / "muster.db", done, count - 1)
    server.start()


def seed_experiments(server: MusterServer, count: int) -> None:
    """Leave the running server with `count` finished jobs more, whose parameters and reported metrics differ."""
    client = MusterClient(server.address)
    done = _pattern(client, server, params={"lr": 1.0, "seed": 0, "optimizer": "adam"})
    client.report(done, [{"name": name, "step": 1, "value": 0.5, "at": "2026-01-02T03:04:05Z"} for name in METRICS])
    client.close()
    server.stop()
    _copy(server.home / "muster.db", done, count - 1)
    server.start()


def _pattern(client: MusterClient, server: MusterServer, **more: Any) -> str:
    """The id of a job that has ended, of which copies are made."""
    workload = Workload.create(server.home / "bench")
    script, marks = workload.mark_script, str(workload.marks_file("seed"))
    done = client.submit(job_spec(f"pattern-{new_id()}", script, marks, **more))
    client.wait(done["id"])
    return str(done["id"])


def _copy(database: Path, job_id: str, count: int) -> None:
    engine = create_engine(f"sqlite:///{database}")
    try:
        with engine.begin() as connection:
            job = dict(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())
            task = dict(connection.execute(select(tasks).where(tasks.c.job_id == job_id)).mappings().one())
            reported = select(metric_series).where(metric_series.c.job_id == job_id)
            series = [dict(row) for row in connection.execute(reported).mappings()]
            for first in range(0, count, BATCH):
                numbers = range(first, min(first + BATCH, count))
                ids = _insert(connection, job, task, numbers)
                if series:
                    connection.execute(insert(metric_series), _measured(series, numbers, ids))
    finally:
        engine.dispose()


def _insert(connection: Connection, job: dict[str, Any], task: dict[str, Any], numbers: range) -> list[str]:
    ids = [new_id() for _ in numbers]
    moved = [
        {**_earlier(job, number), "id": job_id, "name": f"seeded-{number}", "params": _varied(job["params"], number)}
        for number, job_id in zip(numbers, ids, strict=True)
    ]
    connection.execute(insert(jobs), moved)
    connection.execute(
        insert(tasks),
        [
            {**_earlier(task, number), "id": new_id(), "job_id": job_id, "name": f"seeded-{number}-worker-0"}
            for number, job_id in zip(numbers, ids, strict=True)
        ],
    )
    return ids


def _varied(params: str, number: int) -> str:
    own = {"lr": (number % LEARNING_RATES + 1) / LEARNING_RATES, "seed": number}
    given = json.loads(params)
    return json.dumps({**given, **{name: value for name, value in own.items() if name in given}})


def _measured(series: list[dict[str, Any]], numbers: range, ids: list[str]) -> list[dict[str, Any]]:
    """The same metrics of the copies, each with values of its own."""
    highest = max(one["id"] for one in series)
    values = ("last_value", "lowest_value", "highest_value")
    return [
        {
            **one,
            "id": highest + 1 + number * len(series) + place,
            "job_id": job_id,
            **dict.fromkeys(values, number * 7919 % 10_007 / 10_007),
        }
        for number, job_id in zip(numbers, ids, strict=True)
        for place, one in enumerate(series)
    ]


def _earlier(row: dict[str, Any], number: int) -> dict[str, Any]:
    """The row with its times moved back, so that the seeded jobs have an order of their own."""
    times = [column for column in ("created_at", "started_at", "ended_at") if row.get(column) is not None]
    return {**row, **{column: row[column] - (number + 1) * APART_S for column in times}}
