"""The metrics of nodes that Prometheus scrapes, as its own parser understands them."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from muster.domain.nodes import Node, NodeState
from muster.engine.context import Context
from muster.engine.state.open_jobs import OpenJobs
from muster.ports.capabilities import NodeUsage
from muster.server.node_metrics import METRICS, node_metrics
from tests.parts.building import a_node
from tests.parts.fake_backend import FakeBackend

pytestmark = pytest.mark.fast

SAMPLE: dict[str, Any] = {
    "cpu_percent": 50.0,
    "per_core": [25.0, 75.0],
    "load1": 1.5,
    "memory_total_bytes": 100,
    "memory_used_bytes": 40,
    "memory_available_bytes": 60,
    "memory_free_bytes": 50,
    "disk_mount": "/",
    "disk_total_bytes": 10,
    "disk_used_bytes": 4,
    "disk_free_bytes": 5,
    "net": [{"name": "eth0", "speed_mbit": 8, "rx_bytes_s": 3.0, "tx_bytes_s": 4.0}],
    "gpus": [
        {
            "index": 0,
            "load": 87.0,
            "memory_used_bytes": 1,
            "memory_total_bytes": 2,
            "temperature_c": 65,
            "power_w": 210.5,
            "ecc_errors": 0,
        }
    ],
}


def rendered(backend: FakeBackend, now: float = 12.0) -> dict[tuple[str, str], float]:
    """(metric, its labels but cluster) → value."""
    # Rendering reads the backends and the clock, nothing else of the engine.
    context = cast("Context", SimpleNamespace(backends={"lab": backend}, clock=lambda: now, open_jobs=OpenJobs()))
    text = asyncio.run(node_metrics(context, ["lab"])).decode()
    return {
        (sample.name, " ".join(f"{k}={v}" for k, v in sorted(sample.labels.items()) if k != "cluster")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_metric_of_a_sample_is_exposed_as_a_gauge() -> None:
    node = a_node("n1", 8, 100, "A100")
    found = rendered(FakeBackend([node], samples={"n1": NodeUsage(9.0, SAMPLE, {}, 10.0)}))
    assert {name for name, _ in found} == set(METRICS)
    assert found["muster_node_up", "node=n1"] == 1
    assert found["muster_node_heard_seconds", "node=n1"] == 2
    assert found["muster_node_cpu_percent", "node=n1"] == 50
    assert found["muster_node_core_percent", "core=1 node=n1"] == 75
    assert found["muster_node_disk_free_bytes", "device=/ node=n1"] == 5
    assert found["muster_node_net_speed_bytes_per_second", "device=eth0 node=n1"] == 1_000_000
    assert found["muster_gpu_power_watts", "gpu=0 model=A100 node=n1"] == 210.5
    assert found["muster_gpu_out_of_service", "gpu=0 model=A100 node=n1"] == 0


def test_a_gpu_that_is_out_of_service_is_counted() -> None:
    node = a_node("n1", 8, 100, "A100")
    broken = replace(node.capacity.devices[0], out_of_service="bad")
    node = replace(node, capacity=replace(node.capacity, devices=(broken,)))
    assert rendered(FakeBackend([node]))["muster_gpu_out_of_service", "gpu=0 model=A100 node=n1"] == 1


def test_a_silent_node_is_down_and_its_old_metrics_are_left_out() -> None:
    node = replace(a_node("n1", 8, 100), state=NodeState.UNREACHABLE)
    usage = NodeUsage(9.0, SAMPLE, {}, 10.0)
    assert rendered(FakeBackend([node], samples={"n1": usage}), now=110.0) == {
        ("muster_node_up", "node=n1"): 0,
        ("muster_node_heard_seconds", "node=n1"): 100,
    }


def test_a_node_that_left_has_no_metrics() -> None:
    assert rendered(FakeBackend([], samples={"n1": NodeUsage(9.0, SAMPLE, {}, 10.0)})) == {}


def test_names_cannot_break_the_format() -> None:
    node: Node = replace(a_node("n1", 8, 100), name='od"d\\name')
    assert rendered(FakeBackend([node])) == {("muster_node_up", 'node=od"d\\name'): 1}
