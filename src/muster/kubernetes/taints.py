"""Taints of nodes and tolerations of pods, by the rules of the scheduler."""

from collections.abc import Iterable, Mapping
from typing import Any

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]
_KEEPS_OUT = ("NoSchedule", "NoExecute")
_STATES = "node.kubernetes.io/"


def keeps_out(taint: Taint) -> bool:
    """Whether the taint keeps pods without a toleration from the node. `PreferNoSchedule` only makes it less likely."""
    return taint.get("effect") in _KEEPS_OUT


def is_state(taint: Taint) -> bool:
    """Whether Kubernetes itself set the taint, because the node is not ready or cordoned. It goes with that state."""
    return str(taint.get("key", "")).startswith(_STATES)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """An operator that is not understood counts as a match, as in `muster.operator.scheduling.nodes`."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") in (None, "", "Equal"):
        return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
    return True
