"""A cluster whose file asks for PodGroups starts no gang before the API server is known to have them."""

import pytest

from muster.backends.kubernetes.gang_groups import GangGroups
from muster.backends.kubernetes.options import Scheduling
from muster.domain.errors import Unreachable
from muster.kubernetes.pod_groups import VOLCANO_GROUPS

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("scheduling", [Scheduling.KUBERNETES, Scheduling.VOLCANO])
def test_gangs_wait_until_the_groups_are_found(scheduling: Scheduling) -> None:
    groups = GangGroups(scheduling)
    assert "PodGroups cannot be used" in groups.problem
    with pytest.raises(Unreachable):
        groups.required()
    shown = groups.shown()
    assert shown is not None
    assert (shown == VOLCANO_GROUPS) is (scheduling is Scheduling.VOLCANO)


def test_a_cluster_that_asks_for_none_waits_for_none() -> None:
    groups = GangGroups(Scheduling.NONE)
    assert (groups.problem, groups.required(), groups.shown()) == ("", None, None)
