"""The virtual clusters as they are configured, and the order policy that each of them follows."""

from collections.abc import Iterable

from muster.domain.virtual_clusters import OrderPolicy, VirtualCluster
from muster.scheduling.order_policies import Policy, policies
from muster.scheduling.runtime_prediction import Predictor


class VcSettings:
    def __init__(self, predictor: Predictor, *, may_interrupt: bool) -> None:
        self.may_interrupt = may_interrupt
        self.by_name: dict[str, VirtualCluster] = {}
        self._policies = policies(predictor, may_interrupt=may_interrupt)

    def configure(self, vcs: Iterable[VirtualCluster]) -> None:
        self.by_name = {vc.name: vc for vc in vcs}

    def follow(self, policy: Policy) -> None:
        """Use this policy instead of the default one. Called before the first job comes."""
        self._policies = {**self._policies, OrderPolicy.DEFAULT: policy}

    def policy_of(self, vc: str) -> Policy:
        found = self.by_name.get(vc)
        return self._policies[OrderPolicy.DEFAULT if found is None else found.policy]
