"""What `together` means: the sets of nodes within which a whole gang may run.

Nodes that share the value of the label are one domain. A node without the label is a domain of its own, because tasks
on one node are together under whatever switch and in whatever rack that node is.
"""

from collections.abc import Iterable

from muster.domain.nodes import Node
from muster.domain.specs import Together, Where


def label_of(where: Where) -> str | None:
    """The node label that all tasks must share, if `together` names one."""
    return None if where.together in (Together.ANYWHERE, Together.NODE) else str(where.together)


def domains(label: str, nodes: Iterable[Node]) -> dict[tuple[str, str], list[Node]]:
    """Nodes by the domain that they belong to. A key is the label's value, or the name of a node without the label."""
    found: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        value = node.labels.get(label, "")
        found.setdefault((value, "" if value else node.name), []).append(node)
    return found


def without_label(label: str, nodes: Iterable[Node]) -> int:
    return sum(not node.labels.get(label) for node in nodes)
