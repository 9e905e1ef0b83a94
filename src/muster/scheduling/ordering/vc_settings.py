"""The virtual clusters as they are configured, and the order policy that each of them follows."""

from collections.abc import Iterable

from muster.domain.virtual_clusters import Limits, OrderPolicy, VirtualCluster
from muster.scheduling.ordering.order_policies import Policy, policies
from muster.scheduling.ordering.runtime_prediction import Predictor

_NO_LIMITS = Limits()


class VcSettings:
    def __init__(self, predictor: Predictor, *, may_interrupt: bool) -> None:
        self.may_interrupt = may_interrupt
        self.by_name: dict[str, VirtualCluster] = {}
        self._limits: dict[str, tuple[tuple[bool, Limits], ...]] = {}
        self._policies = policies(predictor, may_interrupt=may_interrupt)

    def configure(self, vcs: Iterable[VirtualCluster]) -> None:
        self.by_name = {vc.name: vc for vc in vcs}
        self._limits = {
            vc.name: tuple(
                (of_user, limits)
                for of_user, limits in ((False, vc.limits), (True, vc.user_limits))
                if limits != _NO_LIMITS
            )
            for vc in self.by_name.values()
        }

    def follow(self, policy: Policy) -> None:
        """Use this policy instead of the default one. Called before the first job comes."""
        self._policies = {**self._policies, OrderPolicy.DEFAULT: policy}

    def limits_users(self, vc: str) -> bool:
        """Whether the virtual cluster limits each of its users."""
        return any(of_user for of_user, _ in self.limits_of(vc))

    def limits_of(self, vc: str) -> tuple[tuple[bool, Limits], ...]:
        """The limits in force in a virtual cluster, and whether each is that of a user or of the whole."""
        return self._limits.get(vc, ())

    def policy_of(self, vc: str) -> Policy:
        found = self.by_name.get(vc)
        return self._policies[OrderPolicy.DEFAULT if found is None else found.policy]
