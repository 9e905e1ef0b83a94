"""Extended resources of the nodes that only one test knows."""

import secrets

from tests.parts.kube import Kube


class Slots:
    """A resource of the nodes that only one test asks for."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._nodes = sorted(node["metadata"]["name"] for node in kube.nodes())[:2]
        self.name = f"gang.test/{secrets.token_hex(4)}"

    def offer(self, *amounts: int | None) -> None:
        for node, amount in zip(self._nodes, amounts, strict=True):
            offered = {self.name: None if amount is None else str(amount)}
            self._kube.request(
                "PATCH",
                f"/api/v1/nodes/{node}/status",
                {"status": {"capacity": offered, "allocatable": offered}},
                "application/merge-patch+json",
            )
