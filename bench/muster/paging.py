"""What one page of the job list costs with few and with many finished jobs."""

import time
from collections.abc import Sequence

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.seeding import seed_finished
from bench.muster.server import MusterServer
from bench.scale import Scale
from bench.table import Row, Unit, at_most

REPEATS = 40
QUERIES = {
    "first page": "limit=50",
    "page by state": "limit=50&state=Succeeded",
    "a page far behind": "limit=50&cursor={cursor}",
}
BARS = {what: Row(f"{what}: many finished over few", Unit.TIMES, bar=at_most(3)) for what in QUERIES}


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server:
        seed_finished(server, scale.finished_few)
        few = _cost(server, scale.finished_few)
        seed_finished(server, scale.finished_many - scale.finished_few)
        many = _cost(server, scale.finished_few)
    counts = f"of {scale.finished_many:,} against {scale.finished_few:,}"
    return [
        Row(
            bar.what,
            bar.unit,
            many[what] / few[what],
            bar=bar.bar,
            note=f"{1000 * many[what]:.1f} ms against {1000 * few[what]:.1f} ms, {counts}",
        )
        for what, bar in BARS.items()
    ]


def _cost(server: MusterServer, depth: int) -> dict[str, float]:
    """Median seconds of each query; the far page lies as deep in both, where the small list ends."""
    client = MusterClient(server.address)
    cursor = _cursor(client, depth)
    try:
        return {what: _median(client, query.format(cursor=cursor)) for what, query in QUERIES.items()}
    finally:
        client.close()


def _cursor(client: MusterClient, depth: int) -> str:
    cursor = ""
    for _ in range(depth // 100 - 1):
        page = client.page(f"limit=100{f'&cursor={cursor}' if cursor else ''}")
        cursor = page["nextCursor"] or cursor
    return cursor


def _median(client: MusterClient, query: str) -> float:
    seconds = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        found = client.page(query)["items"]
        seconds.append(time.perf_counter() - before)
        if len(found) != 50:
            raise RuntimeError(f"a page of {query} has {len(found)} jobs instead of 50")
    return percentile(seconds, 50)


CASE = Case("paging", "one page out of 100,000 finished jobs", run, lambda figures: list(BARS.values()))
