"""Taints and tolerations match as the scheduler matches them."""

import pytest

from muster.kubernetes.taints import Toleration, is_state, is_tolerated, keeps_out

pytestmark = pytest.mark.fast
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "disk", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"value": "yes"}, False),
        ({}, False),
    ],
)
def test_toleration_matches_taint(toleration: Toleration, matches: bool) -> None:
    assert is_tolerated(TAINT, [toleration]) is matches


def test_taint_without_value_is_tolerated_by_its_key() -> None:
    assert is_tolerated({"key": "gpu", "effect": "NoExecute"}, [{"key": "gpu"}])


def test_one_of_several_tolerations_suffices() -> None:
    assert is_tolerated(TAINT, [{"key": "disk"}, {"key": "gpu", "operator": "Exists"}])
    assert not is_tolerated(TAINT, [])


def test_taint_that_only_discourages_keeps_nothing_out() -> None:
    assert [keeps_out({"effect": effect}) for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")] == [
        True,
        True,
        False,
    ]


def test_taints_of_kubernetes_itself_tell_a_state() -> None:
    assert is_state({"key": "node.kubernetes.io/not-ready"})
    assert not is_state(TAINT)
