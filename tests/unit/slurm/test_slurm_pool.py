"""The capacity that jobs are admitted against."""

import pytest

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.node_tables import read_nodes
from muster.backends.slurm.cluster_view import pool_of
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
