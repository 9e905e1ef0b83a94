"""Fills a server's database with finished jobs, while it is stopped.

The rows are copies of a job that really ran, so that they weigh what history weighs; only ids, names and times are
new. It goes through the store's own tables, never through SQL of its own.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, insert, select

from bench.muster.client import MusterClient, job_spec
from bench.muster.server import MusterServer
from bench.workload import Workload
from muster.lib.ids import new_id
from muster.stores.tables import jobs, tasks

BATCH = 2000
APART_S = 1.0


def seed_finished(server: MusterServer, count: int) -> None:
    """Leave the running server with `count` finished jobs more than it had."""
    client = MusterClient(server.address)
    workload = Workload.create(server.home / "bench")
    done = client.submit(job_spec(f"pattern-{new_id()}", workload.mark_script, str(workload.marks_file("seed"))))
    client.wait(done["id"])
    client.close()
    server.stop()
    _copy(server.home / "muster.db", done["id"], count - 1)
    server.start()


def _copy(database: Path, job_id: str, count: int) -> None:
    engine = create_engine(f"sqlite:///{database}")
    try:
        with engine.begin() as connection:
            job = dict(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())
            task = dict(connection.execute(select(tasks).where(tasks.c.job_id == job_id)).mappings().one())
            for first in range(0, count, BATCH):
                _insert(connection, job, task, range(first, min(first + BATCH, count)))
    finally:
        engine.dispose()


def _insert(connection: Connection, job: dict[str, Any], task: dict[str, Any], numbers: range) -> None:
    ids = [new_id() for _ in numbers]
    moved = [
        {**_earlier(job, number), "id": job_id, "name": f"seeded-{number}"}
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


def _earlier(row: dict[str, Any], number: int) -> dict[str, Any]:
    """The row with its times moved back, so that the seeded jobs have an order of their own."""
    times = [column for column in ("created_at", "started_at", "ended_at") if row.get(column) is not None]
    return {**row, **{column: row[column] - (number + 1) * APART_S for column in times}}
