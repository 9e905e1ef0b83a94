"""The view of `muster top NODE`: the cores, network interfaces and GPUs of one node."""

from collections.abc import Sequence

from muster.cli.tables.sparklines import sparkline
from muster.cli.tables.text_tables import Column, cut
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
    usage_table,
)

_SPARKS = 60
_CORES_IN_A_LINE = 8
_CORE_CHARACTERS = 9


def node_lines(node: Raw, history: Sequence[Raw], width: int | None) -> list[str]:
    """Describes the usage of a node. With `width`, no line is longer."""
    usage = usage_of(node)
    lines = usage_table(node_usage_columns({}), [node], width)
    if not usage:
        return [*lines, "", "there are no metrics of this node yet"]
    lines += ["", *_charts(usage, history, width)]
    if usage.get("perCore"):
        lines += ["", "Cores, percent:", *_cores(usage, width)]
    if usage.get("net"):
        lines += ["", *usage_table(_link_columns(), usage["net"], width)]
    if gpus := gpus_of(node, history):
        lines += ["", *usage_table(gpu_columns(shows_recent=True), gpus, width)]
    if alerts := node.get("alerts"):
        lines += ["", *(f"! {alert}" if width is None else cut(f"! {alert}", width) for alert in alerts)]
    return lines


def _charts(usage: Raw, history: Sequence[Raw], width: int | None) -> list[str]:
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
    beside = len(f"{'':<8}   ") + max(len(str(text)) for *_, text in rows)
    sparks = _SPARKS if width is None else max(min(_SPARKS, width - beside), 1)
    return [f"{name:<8} {sparkline(values, most, sparks):<{sparks}}  {text}" for name, values, most, text in rows]


def _cores(usage: Raw, width: int | None) -> list[str]:
    shown = [f"{index:>4}: {value:>3.0f}" for index, value in enumerate(usage.get("perCore") or ())]
    fitting = _CORES_IN_A_LINE if width is None else max(min(_CORES_IN_A_LINE, width // _CORE_CHARACTERS), 1)
    return ["".join(shown[start : start + fitting]) for start in range(0, len(shown), fitting)]


def _link_columns() -> list[Column[Raw]]:
    return [
        Column("LINK", lambda link: link["name"]),
        Column("SPEED", lambda link: f"{link['speedMbit']} Mbit/s" if link.get("speedMbit") else None, right=True),
        Column("IN", lambda link: rate_text(link.get("rxBytesS")), right=True),
        Column("OUT", lambda link: rate_text(link.get("txBytesS")), right=True),
    ]
