"""The table columns of virtual clusters and quotas."""

from typing import Any

from muster.cli.tables.text_tables import Column
from muster.client.cluster_views import QuotaView, VirtualClusterView
from muster.client.views import Raw
from muster.lib.quantities import about_bytes

_NOT_COUNTED = "taskLogBytes"
_NONE = (None, "", 0, "0")


def virtual_cluster_columns() -> list[Column[VirtualClusterView]]:
    return [
        Column("NAME", lambda vc: vc.name),
        Column("CLUSTER", lambda vc: vc.cluster, wide=True),
        Column("POLICY", lambda vc: vc.policy),
        Column("GUARANTEED", lambda vc: amount_text(vc.guaranteed)),
        Column("MAX", lambda vc: amount_text(vc.max)),
        Column("USED", lambda vc: amount_text(vc.used)),
        Column("BORROWED", lambda vc: amount_text(vc.borrowed)),
        Column("LENT", lambda vc: amount_text(vc.lent)),
        Column("RUNNING", lambda vc: vc.running, right=True),
        Column("WAITING", lambda vc: vc.waiting, right=True),
        Column("PREDICTION", lambda vc: error_text(vc.prediction_error), wide=True),
        Column("DESCRIPTION", lambda vc: vc.raw.get("description"), wide=True),
    ]


def quota_columns() -> list[Column[QuotaView]]:
    return [
        Column("VC", lambda quota: quota.vc),
        Column("USER", lambda quota: quota.user),
        Column("LIMIT ON", lambda quota: quota.kind),
        Column("USED", _used, right=True),
        Column("LIMIT", lambda quota: _quantity(quota.kind, quota.limit), right=True),
        Column("WAITING", lambda quota: quota.waiting, right=True),
        Column("JOBS", lambda quota: " ".join(quota.jobs)),
    ]


def _used(quota: QuotaView) -> str | None:
    return None if quota.kind == _NOT_COUNTED else _quantity(quota.kind, quota.used)


def _quantity(kind: str, amount: float) -> str:
    if kind.endswith("Bytes"):
        return about_bytes(int(amount))
    return str(int(amount)) if amount == int(amount) else f"{amount:g}"


def amount_text(share: Raw | None) -> str | None:
    """The amount as `8 GPU` or `12 GPU (V100: 8, A100: 4), 64 CPU, 256Gi`; empty if there is nothing."""
    if not share:
        return None
    models = ", ".join(f"{model}: {count:g}" for model, count in (share.get("gpuModels") or {}).items())
    parts = [_part(share.get("gpu"), " GPU"), _part(share.get("cpu"), " CPU"), _part(share.get("memory"), "")]
    if models and parts[0]:
        parts[0] += f" ({models})"
    return ", ".join(part for part in parts if part) or None


def error_text(error: float | None) -> str | None:
    """The median error of run time predictions."""
    return None if error is None else f"±{error:.0%}"


def _part(amount: Any, unit: str) -> str:
    if amount in _NONE:
        return ""
    return f"{amount:g}{unit}" if isinstance(amount, int | float) else f"{amount}{unit}"
