"""The columns of `muster top`: what is burnt, where `get nodes` shows what was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from muster.cli.colours import of_state
from muster.cli.sparklines import sparkline
from muster.cli.tables import Column
from muster.client.views import NodeView
from muster.lib.quantities import about_bytes

if TYPE_CHECKING:
    from muster.api.nodes import NodeOut

Raw = Mapping[str, Any]
Histories = Mapping[str, Sequence[Raw]]
"""By `node_ref`, the last samples of a node."""
_SPARKS = 20
_SILENT = ("Joining", "Unreachable", "Retired")


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU: what the node says of it, what it does now, and what it did."""

    node: str
    gpu: Raw
    now: Raw
    loads: Sequence[float | None] = field(default=())


def cards_of(node: Raw, history: Sequence[Raw] = ()) -> list[Card]:
    now = _by_index(usage_of(node))
    before = [_by_index(sample) for sample in history]
    return [
        Card(
            node["name"],
            gpu,
            now.get(gpu["index"], {}),
            [sample.get(gpu["index"], {}).get("load") for sample in before],
        )
        for gpu in node.get("gpus") or ()
    ]


def node_usage_columns(histories: Histories) -> list[Column[Raw]]:
    def recent(node: Raw) -> str:
        return sparkline([sample.get("cpuPercent") for sample in histories.get(node_ref(node), ())], 100, _SPARKS)

    return [
        Column("NODE", lambda node: node["name"]),
        Column("STATE", lambda node: node["state"], colour=of_state),
        Column("CPU", lambda node: percent_text(usage_of(node).get("cpuPercent")), right=True),
        *([Column("RECENT", recent)] if histories else []),
        Column("LOAD", lambda node: _two_digits(usage_of(node).get("load1")), right=True),
        Column("MEMORY", _memory, right=True),
        Column("DISK", _disk, right=True),
        Column("IN", lambda node: rate_text(net_rate(usage_of(node), "rxBytesS")), right=True),
        Column("OUT", lambda node: rate_text(net_rate(usage_of(node), "txBytesS")), right=True),
        Column("GPU", _gpus, right=True),
        Column("TASKS", lambda node: node.get("tasks"), right=True),
    ]


def card_columns(*, shows_recent: bool) -> list[Column[Card]]:
    recent: Column[Card] = Column("RECENT", lambda card: sparkline(card.loads, 100, _SPARKS))
    return [
        Column("NODE", lambda card: card.node),
        Column("GPU", lambda card: card.gpu.get("index"), right=True),
        Column("MODEL", lambda card: card.gpu.get("model")),
        Column("LOAD", lambda card: percent_text(card.now.get("load")), right=True),
        *([recent] if shows_recent else []),
        Column("MEMORY", _card_memory, right=True),
        Column("TEMP", lambda card: _unit(card.now.get("temperatureC"), "°C"), right=True),
        Column("POWER", lambda card: _unit(card.now.get("powerW"), "W"), right=True),
        Column("WHO", who_has, colour=lambda text: "red" if text.startswith(_OUT) else None),
    ]


def task_usage_columns() -> list[Column[Raw]]:
    return [
        Column("TASK", lambda task: task["task"]),
        Column("JOB", lambda task: task.get("job")),
        Column("OWNER", lambda task: task.get("owner")),
        Column("NODE", lambda task: task.get("node")),
        Column("CPU", lambda task: percent_text(task.get("cpuPercent")), right=True),
        Column("MEMORY", lambda task: about_bytes(task["rssBytes"]) if task.get("rssBytes") else None, right=True),
        Column("PROCS", lambda task: task.get("processes"), right=True),
    ]


_OUT = "out of service"


def who_has(card: Card) -> str:
    """A card that is out of service may still be somebody's."""
    used, job = card.gpu.get("used") or 0, card.gpu.get("job")
    part = f" ({used:g} of it)" if 0 < used < 1 else ""
    if why := card.gpu.get("outOfService"):
        return f"{_OUT}: {why}" + (f"; {job} still has it" if job else "")
    return f"{job}{part}" if job else "free"


def node_ref(node: Raw) -> str:
    """Two clusters may have a node of one name."""
    return f"{node['cluster']}/{node['name']}"


def usage_of(node: Raw) -> Raw:
    """Of a node that does not answer, nothing: what it used when it was last heard is not what it uses now."""
    usage = node.get("usage") if node["state"] not in _SILENT else None
    return usage if isinstance(usage, Mapping) else {}


def net_rate(usage: Raw, name: str) -> float | None:
    links = usage.get("net")
    return sum(link.get(name) or 0 for link in links) if links else None


def rate_text(bytes_s: float | None) -> str | None:
    return None if bytes_s is None else f"{about_bytes(int(bytes_s))}/s"


def percent_text(value: Any) -> str | None:
    return None if value is None else f"{value:.0f}%"


def amounts_text(used: int | None, total: int | None) -> str | None:
    if not total:
        return None
    return f"{'-' if used is None else about_bytes(used)}/{about_bytes(total)}"


def _memory(node: Raw) -> str | None:
    return amounts_text(usage_of(node).get("memoryUsedBytes"), (node.get("memory") or {}).get("total"))


def _disk(node: Raw) -> str | None:
    return amounts_text(usage_of(node).get("diskUsedBytes"), usage_of(node).get("diskTotalBytes"))


def _card_memory(card: Card) -> str | None:
    return amounts_text(card.now.get("memoryUsedBytes"), card.now.get("memoryTotalBytes"))


def _gpus(node: Raw) -> str | None:
    given = NodeView.of(cast("NodeOut", node))
    return f"{given.gpus_used:g}/{len(given.gpus)}" if given.gpus else None


def _by_index(usage: Raw) -> dict[int, Raw]:
    return {gpu["index"]: gpu for gpu in usage.get("gpus") or ()}


def _unit(value: Any, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


def _two_digits(value: Any) -> str | None:
    return None if value is None else f"{value:.2f}"
