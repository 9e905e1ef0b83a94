"""The reference page of metrics, as the tables of the code have it."""

from muster.server.metric_families import Described
from muster.server.metrics import GROUPS

_HEAD = """# Metrics

What `GET /metrics` of a server has for Prometheus. This page is made from the code. How to scrape, alert and draw is in
[monitoring.md](../guides/monitoring.md#prometheus).

Figures that are not known are left out, and what is gone has none. Jobs and users are only in the answer to a token
whose user may know of everybody's jobs: with `privateJobs: true` that is one of an admin with the scope `admin`. Where
`openMetrics: true` shows metrics to everybody, they are never in it.
"""
_TABLE = "| metric | type | labels | meaning |\n|---|---|---|---|\n"


def render() -> str:
    return _HEAD + "".join(_section(title, table) for title, table in GROUPS.items())


def _section(title: str, table: dict[str, Described]) -> str:
    return f"\n## {title}\n\n{_TABLE}" + "".join(_row(name, metric) for name, metric in table.items())


def _row(name: str, metric: Described) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{name}` | {metric.kind} | {labels} | {metric.help} |\n"
