"""Which nodes may run a pod, by what its job asks for."""

from collections.abc import Iterable, Mapping
from typing import Any

from muster.backends.kubernetes.names import GANG
from muster.domain.specs import ANY_VALUE, Spread, Together, Where

HOST_NAME = "kubernetes.io/hostname"


def affinity(where: Where, gang: str, products: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The affinity of a pod. `products` has, by label, the values that name an acceptable model of GPU: a node needs
    one of them."""
    rules = [_rule(name, value) for name, value in sorted(where.labels.items())]
    if where.nodes:
        rules.append({"key": HOST_NAME, "operator": "In", "values": list(where.nodes)})
    if where.not_nodes:
        rules.append({"key": HOST_NAME, "operator": "NotIn", "values": list(where.not_nodes)})
    terms = [
        {"matchExpressions": [*rules, {"key": label, "operator": "In", "values": sorted(values)}]}
        for label, values in sorted(products.items())
    ]
    if not terms and rules:
        terms = [{"matchExpressions": rules}]
    found: dict[str, Any] = {}
    if terms:
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    peers = {"labelSelector": {"matchLabels": {GANG: gang}}}
    if where.spread is Spread.APART:
        found["podAntiAffinity"] = _required({**peers, "topologyKey": HOST_NAME})
    if where.together is not Together.ANYWHERE:
        key = HOST_NAME if where.together is Together.NODE else str(where.together)
        found["podAffinity"] = _required({**peers, "topologyKey": key})
    return found


def _rule(name: str, value: str) -> dict[str, Any]:
    if value == ANY_VALUE:
        return {"key": name, "operator": "Exists"}
    return {"key": name, "operator": "In", "values": [value]}


def _required(term: Mapping[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
