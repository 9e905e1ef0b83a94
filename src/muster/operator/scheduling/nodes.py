"""Nodes as the gang guard sees them, and which of them a pod may run on at all.

The rules are those of the scheduler: `nodeName`, `nodeSelector`, the required node affinity, taints and tolerations.
Whatever is not understood counts as a match: a pod that was released in vain is found out, one that is held in vain is
not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.kubernetes.amounts import Amounts, read_amounts
from muster.kubernetes.resources import Object, labels_of
from muster.kubernetes.taints import Taint, is_state, is_tolerated, keeps_out

_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    offers: Amounts

    @property
    def recovered(self) -> "Node":
        """The node as it will be when it is ready and nobody has cordoned it."""
        lasting = tuple(one for one in self.taints if not is_state(one))
        return self if lasting == self.taints else Node(self.name, self.labels, lasting, self.offers)


def read_node(raw: Object) -> Node:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    taints = [one for one in spec.get("taints") or () if keeps_out(one)]
    if spec.get("unschedulable") and not any(one.get("key") == _CORDONED["key"] for one in taints):
        taints.append(_CORDONED)
    return Node(
        name=str(raw["metadata"]["name"]),
        labels=dict(labels_of(raw)),
        taints=tuple(taints),
        offers=read_amounts(status.get("allocatable")),
    )


def may_run_on(spec: Mapping[str, Any], node: Node) -> bool:
    """Whether the scheduler may place a pod with this spec on the node if it has room."""
    pinned = spec.get("nodeName")
    if pinned:
        return bool(pinned == node.name)
    selector = spec.get("nodeSelector")
    if isinstance(selector, Mapping) and any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    tolerations = [one for one in spec.get("tolerations") or () if isinstance(one, Mapping)]
    if not all(is_tolerated(taint, tolerations) for taint in node.taints):
        return False
    return _affinity_matches(spec.get("affinity"), node)


def _affinity_matches(affinity: object, node: Node) -> bool:
    of_nodes = affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") if isinstance(of_nodes, Mapping) else None
    terms = required.get("nodeSelectorTerms") if isinstance(required, Mapping) else None
    if not isinstance(terms, list) or not terms:
        return True
    return any(_term_matches(term, node) for term in terms if isinstance(term, Mapping))


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return _all_match(expressions, node.labels) and _all_match(fields, {"metadata.name": node.name})


def _all_match(expressions: Iterable[Mapping[str, Any]], values: Mapping[str, str]) -> bool:
    return all(
        _OPERATORS.get(str(one.get("operator")), _unknown)(values.get(str(one.get("key"))), one.get("values") or [])
        for one in expressions
    )


def _unknown(value: str | None, given: list[str]) -> bool:
    return True


def _compared(compare: Callable[[int, int], bool]) -> Callable[[str | None, list[str]], bool]:
    def matches(value: str | None, given: list[str]) -> bool:
        try:
            return compare(int(value or ""), int(given[0]))
        except (ValueError, IndexError):
            return False

    return matches


_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, given: value in given,
    "NotIn": lambda value, given: value not in given,
    "Exists": lambda value, given: value is not None,
    "DoesNotExist": lambda value, given: value is None,
    "Gt": _compared(int.__gt__),
    "Lt": _compared(int.__lt__),
}
