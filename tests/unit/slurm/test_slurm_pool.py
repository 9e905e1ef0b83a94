"""The capacity that jobs are admitted against."""

import pytest

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.node_states import node_condition
from muster.backends.slurm.answers.node_tables import NodeRecord, read_nodes
from muster.backends.slurm.answers.queries import Machines
from muster.backends.slurm.cluster_view import ClusterView, pool_of
from muster.backends.slurm.options import Order, SlurmOptions
from muster.scheduling.pooled import pooled_node
from tests.unit.slurm.samples import recorded

pytestmark = pytest.mark.fast


def test_all_jobs_are_handed_over_where_slurm_orders_them_and_gpus_are_still_few_enough_to_be_counted() -> None:
    records = list(read_nodes(recorded("22.05.8", "show_node.txt")))

    node = pooled_node("hpc", pool_of(records, Amounts(), SlurmOptions(order=Order.SLURM)))

    assert node.capacity.cpu_m > 1000 * 1000
    assert 2000 < len(node.capacity.devices) < 20_000
    assert len({device.index for device in node.capacity.devices}) == len(node.capacity.devices)


def test_gpus_without_a_type_are_called_by_a_feature_of_their_node() -> None:
    view, options = ClusterView("hpc"), SlurmOptions(gpu_features={"volta": "V100", "ampere": "A100"})
    records = (
        _node("n1", ("fast", "volta"), {"": 4}, {"": 3}),
        _node("n2", ("ampere",), {"": 2}),
        _node("n3", ("volta",), {"t4": 1}),
        _node("n4", ("fast",), {"": 1}),
    )

    view.update(Machines(records, ()), Amounts(gpus={"volta": 1}), {}, options)

    assert [sorted({one.model for one in node.capacity.devices}) for node in view.nodes] == [
        ["V100"],
        ["A100"],
        ["t4"],
        ["GPU"],
    ]
    assert view.pool is not None
    assert view.pool.total.gpus == {"V100": 4, "A100": 2, "t4": 1, "GPU": 1}
    assert view.pool.available.gpus == {"V100": 2, "A100": 2, "t4": 1, "GPU": 1}
    assert view.gpu_types == ("t4",)


def _node(name: str, features: tuple[str, ...], gpus: dict[str, int], used: dict[str, int] | None = None) -> NodeRecord:
    return NodeRecord(name, name, node_condition(("IDLE",)), 4, 1 << 30, gpus, used_gpus=used or {}, features=features)
