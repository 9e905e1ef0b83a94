"""The view of `muster top NODE`: the cores, network interfaces and GPUs of one node."""

from collections.abc import Sequence

from muster.cli.tables.sparklines import sparkline
from muster.cli.tables.text_tables import Column, render
from muster.cli.tables.usage_columns import (
    Raw,
    amounts_text,
    gpu_columns,
    gpus_of,
    net_rate,
    node_usage_columns,
    percent_text,
    rate_text,
    usage_of,
)

_SPARKS = 60
_CORES_IN_A_LINE = 8


def node_lines(node: Raw, history: Sequence[Raw]) -> list[str]:
    usage = usage_of(node)
    lines = render(node_usage_columns({}), [node])
    if not usage:
        return [*lines, "", "there are no metrics of this node yet"]
    lines += ["", *_charts(usage, history), "", "Cores, percent:", *_cores(usage)]
    if usage.get("net"):
        lines += ["", *render(_link_columns(), usage["net"])]
    if gpus := gpus_of(node, history):
        lines += ["", *render(gpu_columns(shows_recent=True), gpus)]
    if alerts := node.get("alerts"):
        lines += ["", *(f"! {alert}" for alert in alerts)]
    return lines


def _charts(usage: Raw, history: Sequence[Raw]) -> list[str]:
    total = usage.get("memoryTotalBytes") or 0
    rates = [(net_rate(sample, "rxBytesS") or 0) + (net_rate(sample, "txBytesS") or 0) for sample in history]
    busiest = max(rates, default=0.0)
    rows = (
        ("CPU", [sample.get("cpuPercent") for sample in history], 100.0, percent_text(usage.get("cpuPercent"))),
        (
            "Memory",
            [sample.get("memoryUsedBytes") for sample in history],
            float(total),
            amounts_text(usage.get("memoryUsedBytes"), total),
        ),
        ("Network", rates, busiest, f"at most {rate_text(busiest)}"),
    )
    return [f"{name:<8} {sparkline(values, most, _SPARKS):<{_SPARKS}}  {text}" for name, values, most, text in rows]


def _cores(usage: Raw) -> list[str]:
    shown = [f"{index:>4}: {value:>3.0f}" for index, value in enumerate(usage.get("perCore") or ())]
    return ["".join(shown[start : start + _CORES_IN_A_LINE]) for start in range(0, len(shown), _CORES_IN_A_LINE)]


def _link_columns() -> list[Column[Raw]]:
    return [
        Column("LINK", lambda link: link["name"]),
        Column("SPEED", lambda link: f"{link['speedMbit']} Mbit/s" if link.get("speedMbit") else None, right=True),
        Column("IN", lambda link: rate_text(link.get("rxBytesS")), right=True),
        Column("OUT", lambda link: rate_text(link.get("txBytesS")), right=True),
    ]
