import pytest

from muster.simulation.options import (
    CostKind,
    Durations,
    DurationsKind,
    NodeGroup,
    PreemptionCost,
    parse_durations,
    parse_nodes,
    parse_preemption_cost,
    parse_vc,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("8x8", [NodeGroup(8, 8)]),
        ("8x8xV100", [NodeGroup(8, 8, "V100")]),
        ("2x8xRTX3090, 4x4", [NodeGroup(2, 8, "RTX3090"), NodeGroup(4, 4)]),
        ("1x2xbox", [NodeGroup(1, 2, "box")]),
        ("3x0", [NodeGroup(3, 0)]),
        ("A:32x8xV100,B:4x8", [NodeGroup(32, 8, "V100", "A"), NodeGroup(4, 8, "", "B")]),
        ("A:2x8,1x4,B:1x1", [NodeGroup(2, 8, "", "A"), NodeGroup(1, 4, "", "A"), NodeGroup(1, 1, "", "B")]),
    ],
)
def test_nodes_are_read(text: str, groups: list[NodeGroup]) -> None:
    assert parse_nodes(text) == groups


@pytest.mark.parametrize("text", ["", "8", "8x", "x8", "0x8", "8x8,", "8x8x", "-1x8", "A:", "1.5x8"])
def test_wrong_nodes_are_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(ValueError, match="expected COUNTxGPUS"):
        parse_nodes(text)


@pytest.mark.parametrize(
    ("text", "durations"),
    [
        ("exact", Durations(DurationsKind.EXACT)),
        ("unknown", Durations(DurationsKind.UNKNOWN)),
        ("limit", Durations(DurationsKind.LIMIT)),
        ("noisy:7", Durations(DurationsKind.NOISY, 7)),
    ],
)
def test_durations_are_read_and_written(text: str, durations: Durations) -> None:
    assert parse_durations(text) == durations
    assert str(durations) == text


@pytest.mark.parametrize("text", ["", "noisy", "noisy:", "noisy:x", "noisy:-1", "exact:1", "Exact"])
def test_wrong_durations_are_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(ValueError, match="expected exact, unknown, noisy:SEED or limit"):
        parse_durations(text)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("0", PreemptionCost(CostKind.FREE)),
        ("free", PreemptionCost(CostKind.FREE)),
        ("helios", PreemptionCost(CostKind.HELIOS)),
        ("checkpoint:30m", PreemptionCost(CostKind.CHECKPOINT, 1800.0)),
        ("none", PreemptionCost(CostKind.NONE)),
    ],
)
def test_costs_are_read(text: str, cost: PreemptionCost) -> None:
    assert parse_preemption_cost(text) == cost
    assert parse_preemption_cost(str(cost)) == cost


@pytest.mark.parametrize("text", ["", "1", "checkpoint", "checkpoint:0", "checkpoint:soon", "helios:1"])
def test_wrong_costs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_preemption_cost(text)


@pytest.mark.parametrize(("gpus", "seconds"), [(0.5, 7), (1, 7), (2, 30), (8, 30), (9, 60), (64, 60)])
def test_helios_restarts_take_longer_for_larger_gangs(gpus: float, seconds: float) -> None:
    assert PreemptionCost(CostKind.HELIOS).restart_s(gpus) == seconds
    assert PreemptionCost(CostKind.FREE).restart_s(gpus) == 0


@pytest.mark.parametrize(("ran_s", "lost_s"), [(0, 0), (1799, 1799), (1800, 0), (4000, 400)])
def test_work_since_the_last_checkpoint_is_lost(ran_s: float, lost_s: float) -> None:
    assert PreemptionCost(CostKind.CHECKPOINT, 1800.0).lost_s(ran_s) == lost_s
    assert PreemptionCost(CostKind.HELIOS).lost_s(ran_s) == 0


def test_only_none_forbids_preemption() -> None:
    assert [kind for kind in CostKind if not PreemptionCost(kind).allows_preemption] == [CostKind.NONE]


def test_a_virtual_cluster_is_a_name_and_nodes() -> None:
    assert parse_vc("vision=4") == ("vision", 4)


@pytest.mark.parametrize("text", ["vision", "=4", "vision=", "vision=a", "vision=-1"])
def test_a_wrong_virtual_cluster_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected NAME=NODES"):
        parse_vc(text)
