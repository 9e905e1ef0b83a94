"""The policies that a simulation may compare, as profiles of the scheduler."""

from muster.domain.virtual_clusters import OrderPolicy
from muster.scheduling.ordering.order_policies import Overtaking, policies
from muster.scheduling.ordering.order_policies import Policy as Profile
from muster.scheduling.ordering.ranking import Arrival, Attained, Remaining
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.simulation.options import Policy


def profile(policy: Policy, predictor: Predictor, *, may_interrupt: bool) -> Profile:
    match policy:
        case Policy.FIFO:
            return Profile("fifo", Arrival(), Overtaking.NEVER)
        case Policy.FIRST_FIT:
            return Profile("first-fit", Arrival())
        case Policy.EASY:
            return Profile("easy", Arrival(), Overtaking.RESERVED)
        case Policy.SSF:
            return Profile("ssf", Remaining(predictor))
        case Policy.SRSF:
            return Profile("srsf", Remaining(predictor), interrupts=may_interrupt)
        case Policy.LAS:
            return Profile("las", Attained(), interrupts=may_interrupt)
        case Policy.FAIR | Policy.DEFAULT:
            return policies(predictor, may_interrupt=may_interrupt)[OrderPolicy(policy)]
