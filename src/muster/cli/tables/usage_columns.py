"""The table columns of `muster top`, which show usage, while `get nodes` shows allocation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from muster.cli.tables.colours import state_colour
from muster.cli.tables.sparklines import sparkline
from muster.cli.tables.text_tables import Column, Row, fitting, render_within
from muster.client.node_views import NodeView
from muster.lib.quantities import about_bytes

if TYPE_CHECKING:
    from muster.api.nodes import NodeOut

Raw = Mapping[str, Any]
Histories = Mapping[str, Sequence[Raw]]
"""The last samples of each node, by `node_ref`."""
_SPARKS = 20
_LEAST = ("RECENT", "LOAD", "DISK", "OUT", "IN", "POWER", "TEMP", "PROCS", "OWNER")
"""The columns that a narrow terminal leaves out, in this order."""
_SILENT = ("Joining", "Unreachable", "Retired")


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """A GPU: its description, its current metrics, and its past load."""

    cluster: str
    node: str
    facts: Raw
    now: Raw
    loads: Sequence[float | None] = field(default=())


def usage_table(columns: Sequence[Column[Row]], rows: Sequence[Row], width: int | None) -> list[str]:
    """The lines of a table, none wider than the terminal. What matters least is left out first."""
    return render_within(fitting(columns, rows, width, _LEAST), rows, width)


def gpus_of(node: Raw, history: Sequence[Raw] = ()) -> list[GpuUsage]:
    now = _by_index(usage_of(node))
    before = [_by_index(sample) for sample in history]
    return [
        GpuUsage(
            node["cluster"],
            node["name"],
            gpu,
            now.get(gpu["index"], {}),
            [sample.get(gpu["index"], {}).get("load") for sample in before],
        )
        for gpu in node.get("gpus") or ()
    ]


def node_usage_columns(histories: Histories, *, shows_cluster: bool = False) -> list[Column[Raw]]:
    def recent(node: Raw) -> str:
        return sparkline([sample.get("cpuPercent") for sample in histories.get(node_ref(node), ())], 100, _SPARKS)

    cluster: Column[Raw] = Column("CLUSTER", lambda node: node["cluster"])
    return [
        *([cluster] if shows_cluster else []),
        Column("NODE", lambda node: node["name"]),
        Column("STATE", lambda node: node["state"], colour=state_colour),
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


def gpu_columns(*, shows_recent: bool, shows_cluster: bool = False) -> list[Column[GpuUsage]]:
    recent: Column[GpuUsage] = Column("RECENT", lambda gpu: sparkline(gpu.loads, 100, _SPARKS))
    cluster: Column[GpuUsage] = Column("CLUSTER", lambda gpu: gpu.cluster)
    return [
        *([cluster] if shows_cluster else []),
        Column("NODE", lambda gpu: gpu.node),
        Column("GPU", lambda gpu: gpu.facts.get("index"), right=True),
        Column("MODEL", lambda gpu: gpu.facts.get("model")),
        Column("LOAD", lambda gpu: percent_text(gpu.now.get("load")), right=True),
        *([recent] if shows_recent else []),
        Column("MEMORY", _gpu_memory, right=True),
        Column("TEMP", lambda gpu: _unit(gpu.now.get("temperatureC"), "°C"), right=True),
        Column("POWER", lambda gpu: _unit(gpu.now.get("powerW"), "W"), right=True),
        Column("WHO", holder_text, colour=lambda text: "red" if text.startswith(_OUT) else None),
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


def holder_text(gpu: GpuUsage) -> str:
    """The job that has the GPU. A GPU that is out of service may still belong to a job."""
    used, job = gpu.facts.get("used") or 0, gpu.facts.get("job")
    part = f" ({used:g} of it)" if 0 < used < 1 else ""
    if why := gpu.facts.get("outOfService"):
        return f"{_OUT}: {why}" + (f"; {job} still has it" if job else "")
    return f"{job}{part}" if job else "free"


def node_ref(node: Raw) -> str:
    """The name with the cluster, because two clusters may have a node of the same name."""
    return f"{node['cluster']}/{node['name']}"


def usage_of(node: Raw) -> Raw:
    """The current usage; empty if the node does not answer, because its last metrics are out of date."""
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


def _gpu_memory(gpu: GpuUsage) -> str | None:
    return amounts_text(gpu.now.get("memoryUsedBytes"), gpu.now.get("memoryTotalBytes"))


def _gpus(node: Raw) -> str | None:
    given = NodeView.of(cast("NodeOut", node))
    return f"{given.gpus_used:g}/{len(given.gpus)}" if given.gpus else None


def _by_index(usage: Raw) -> dict[int, Raw]:
    return {gpu["index"]: gpu for gpu in usage.get("gpus") or ()}


def _unit(value: Any, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


def _two_digits(value: Any) -> str | None:
    return None if value is None else f"{value:.2f}"
