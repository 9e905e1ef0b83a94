"""Clusters as OpenPAI's virtual clusters, and what their nodes have."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from muster.domain.nodes import Node
from muster.domain.resources import WHOLE_GPU
from muster.domain.virtual_clusters import Share
from muster.engine.cluster_access import default_cluster, listed_virtual_clusters, visible_clusters
from muster.engine.requests.accounts import Principal
from muster.engine.state.cluster_settings import DEFAULT, shares_of
from muster.lib.quantities import gpu_number
from muster.server.services import Services

_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Amount:
    cpu_m: int = 0
    memory_bytes: int = 0
    gpu_m: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.cpu_m + other.cpu_m, self.memory_bytes + other.memory_bytes, self.gpu_m + other.gpu_m)

    @classmethod
    def of_share(cls, share: Share) -> "Amount":
        return cls(share.cpu_m, share.memory_bytes, WHOLE_GPU * sum(share.gpus.values()))

    def view(self) -> dict[str, Any]:
        """Return the amounts under OpenPAI's present names and its former ones."""
        cpu, memory, gpu = self.cpu_m / 1000, self.memory_bytes // _MEGABYTE, gpu_number(self.gpu_m)
        return {"cpu": cpu, "memory": memory, "gpu": gpu, "vCores": cpu, "GPUs": gpu}


def virtual_clusters(parts: Services, me: Principal) -> dict[str, dict[str, Any]]:
    """All clusters that the caller may name in a job: physical and virtual ones, and `default`, which is where jobs go
    that name none."""
    context = parts.context
    found = {name: _physical(parts, name) for name in visible_clusters(context, me.user)}
    shares = shares_of(context.clusters, context.clock()) if context.config.virtual else {}
    for vc in listed_virtual_clusters(context, me.user, is_admin=me.is_admin):
        share = shares.get(vc.name)
        whole = _capacity(parts.context.schedulable_nodes(vc.cluster)) if vc.cluster in context.backends else Amount()
        counts = (share.running, share.waiting) if share else (0, 0)
        used = Amount.of_share(share.used) if share else Amount()
        found[vc.name] = _view(whole, used, Amount.of_share(vc.guaranteed), counts, ())
    home = default_cluster(context, me.user)
    if DEFAULT not in found and home is not None and home in found:
        found[DEFAULT] = found[home]
    return found


def sku_types(parts: Services, me: Principal, cluster: str | None) -> dict[str, dict[str, Any]]:
    """What goes with one GPU of each model, or with one core of nodes without GPUs: the least that any node has."""
    names = visible_clusters(parts.context, me.user)
    nodes = [node for name in names if cluster in (None, name) for node in parts.context.schedulable_nodes(name)]
    found: dict[str, dict[str, Any]] = {}
    for node in nodes:
        gpus = node.capacity.devices
        units = len(gpus) or max(node.capacity.cpu_m // 1000, 1)
        unit = {
            **({"gpu": 1} if gpus else {}),
            "cpu": max(node.capacity.cpu_m // 1000 // units, 1),
            "memory": node.capacity.memory_bytes // _MEGABYTE // units,
        }
        for sku in {gpu.model for gpu in gpus} or {"cpu"}:
            found[sku] = {key: min(value, found.get(sku, unit)[key]) for key, value in unit.items()}
    return found


def home_of(parts: Services, me: Principal, name: str) -> str | None:
    """The physical cluster behind a name; None if the caller may not use it."""
    if name == DEFAULT and DEFAULT not in parts.context.config.virtual:
        name = default_cluster(parts.context, me.user) or ""
    vc = parts.context.config.virtual.get(name)
    home = vc.cluster if vc is not None else name
    return home if name in virtual_clusters(parts, me) else None


def _physical(parts: Services, name: str) -> dict[str, Any]:
    nodes = parts.context.schedulable_nodes(name)
    state = parts.context.clusters[name]
    used = Amount()
    for node in nodes:
        cpu_m, memory_bytes, devices = state.used(node.name)
        taken = {**dict.fromkeys(devices, WHOLE_GPU), **state.device_shares(node.name)}
        used += Amount(cpu_m, memory_bytes, sum(taken.values()))
    jobs = [entry.job for entry in parts.context.open_jobs.entries() if entry.job.cluster == name]
    running = sum(job.state_name not in ("Queued", "Held") for job in jobs)
    counts = (running, len(jobs) - running)
    whole = _capacity(nodes)
    return _view(whole, used, whole, counts, tuple(node.name for node in nodes))


def _capacity(nodes: Iterable[Node]) -> Amount:
    total = Amount()
    for node in nodes:
        capacity = node.capacity
        total += Amount(capacity.cpu_m, capacity.memory_bytes, WHOLE_GPU * len(capacity.devices))
    return total


def _view(
    whole: Amount, used: Amount, guaranteed: Amount, counts: tuple[int, int], nodes: tuple[str, ...]
) -> dict[str, Any]:
    running, waiting = counts
    return {
        "capacity": _percent(guaranteed, whole),
        "maxCapacity": 100.0,
        "usedCapacity": _percent(used, whole),
        "dedicated": False,
        "resourcesUsed": used.view(),
        "resourcesGuaranteed": guaranteed.view(),
        "resourcesTotal": whole.view(),
        "numJobs": running + waiting,
        "numActiveJobs": running,
        "numPendingJobs": waiting,
        "nodeList": list(nodes),
        "status": "RUNNING",
    }


def _percent(part: Amount, whole: Amount) -> float:
    """Compares by GPUs where there are any, else by cores."""
    of, all_of = (part.gpu_m, whole.gpu_m) if whole.gpu_m else (part.cpu_m, whole.cpu_m)
    return round(100.0 * of / all_of, 2) if all_of else 0.0
