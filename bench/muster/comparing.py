"""How long comparing many experiments takes, beside SQLite alone, which answers the same question with one query."""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.seeding import LEARNING_RATES, seed_experiments
from bench.muster.server import MusterServer
from bench.scale import Scale
from bench.table import Row, Unit, at_most

REPEATS = 20
PEER = "SQLite, one query"
BEST = Row("best experiment by a metric, per parameter", Unit.MILLISECONDS, peer=PEER, bar=at_most(200))
FOUND = Row("experiments by a condition on a metric", Unit.MILLISECONDS, bar=at_most(200))
BARS = (BEST, FOUND)
_QUERY = """
SELECT json_extract(jobs.params, '$.lr') AS lr, max(highest_value), avg(highest_value), count(*)
FROM jobs JOIN metric_series ON metric_series.job_id = jobs.id
WHERE metric_series.name = 'acc' GROUP BY lr ORDER BY 2 DESC
"""


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        seed_experiments(server, scale.experiments)
        client = MusterClient(server.address)
        best = _median_ms(lambda: _best(client))
        found = _median_ms(lambda: client.experiments("?having=acc%3E0.99&metric=acc&limit=100"))
        client.close()
        plain = _median_ms(lambda: _plain(server.home / "muster.db"))
    note = f"the median of {REPEATS} over {scale.experiments:,} jobs with 3 metrics each"
    return [
        Row(BEST.what, BEST.unit, best, PEER, plain, BEST.bar, note),
        Row(FOUND.what, FOUND.unit, found, bar=FOUND.bar, note=note),
    ]


def _best(client: MusterClient) -> None:
    groups = client.experiments(f"/best?metric=acc&by=lr&limit={LEARNING_RATES}")["items"]
    if len(groups) != LEARNING_RATES:
        raise RuntimeError(f"{len(groups)} values of lr instead of {LEARNING_RATES}")


def _plain(database: Path) -> str:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return json.dumps(connection.execute(_QUERY).fetchall())
    finally:
        connection.close()


def _median_ms(asked: Callable[[], Any]) -> float:
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        asked()
        taken.append(1000 * (time.perf_counter() - began))
    return percentile(taken, 50)


CASE = Case("experiments", "comparing 10,000 experiments", run, lambda figures: list(BARS))
