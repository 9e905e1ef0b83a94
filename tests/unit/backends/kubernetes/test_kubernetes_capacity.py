"""The pooled capacity, the list of nodes, and how a task asks for GPUs."""

import pytest

from muster.backends.kubernetes.capacity import Usage, gpu_choice, listed_nodes, pod_usage, pool, read_node
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.nodes import NodeState
from muster.domain.pools import PoolCapacity
from muster.domain.resources import Resources
from muster.kubernetes.amounts import thousandths, whole
from tests.unit.backends.kubernetes.building import OPTIONS, a_node

pytestmark = pytest.mark.fast
GIB = 1 << 30
FPGA = "xilinx.com/fpga"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2", 2000), ("250m", 250), ("0.5", 500), ("1e3", 1_000_000), ("100000u", 100), ("1k", 1_000_000), ("odd", 0)],
)
def test_cpu_is_read_in_thousandths(text: str, expected: int) -> None:
    assert thousandths(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("16Gi", 16 * GIB), ("128974848", 128974848), ("1M", 10**6), ("1500m", 1), (5, 5)]
)
def test_memory_is_read_in_bytes(text: str | int, expected: int) -> None:
    assert whole(text) == expected


def test_the_pool_is_what_nodes_have_less_what_others_use() -> None:
    nodes = [read_node(a_node("n1", gpus=4), OPTIONS), read_node(a_node("n2"), OPTIONS)]
    found = pool(nodes, {"n1": Usage(500, GIB, 1), "n2": Usage(99_000, 0, 0)}, PoolCapacity())
    assert found.total == PoolCapacity(15_000, 64 * GIB, {"A100": 4})
    assert found.available == PoolCapacity(7_000, 63 * GIB, {"A100": 3})
    assert found.largest_node == PoolCapacity(7_500, 32 * GIB, {"A100": 4})


def test_devices_are_counted_by_resource_beside_gpus() -> None:
    first, second = a_node("n1", gpus=1), a_node("n2")
    first["status"]["allocatable"] |= {FPGA: "3", "hugepages-2Mi": "1Gi", "example.com/dsp": "0"}
    second["status"]["allocatable"] |= {FPGA: "2"}
    nodes = [read_node(one, OPTIONS) for one in (first, second)]
    pod = {"spec": {"containers": [{"resources": {"limits": {FPGA: "1", "nvidia.com/gpu": "1"}}}]}}

    found = pool(nodes, {"n1": pod_usage(pod, OPTIONS)}, PoolCapacity())

    assert (found.total.extended, found.available.extended, found.largest_node.extended) == (
        {FPGA: 5},
        {FPGA: 4},
        {FPGA: 3},
    )
    assert [node.capacity.extended_amounts() for node in listed_nodes(nodes, "k8s")] == [((FPGA, 3),), ((FPGA, 2),)]


def test_usage_of_devices_that_came_and_went_is_nothing() -> None:
    used = Usage(500, GIB, 1, {FPGA: 2})
    left = Usage() + used + -used
    assert (left.cpu_m, left.gpus, left.extended[FPGA]) == (0, 0, 0)


def test_nodes_that_take_no_tasks_count_for_the_total_alone() -> None:
    gone = read_node(a_node("n1", ready="Unknown"), OPTIONS)
    cordoned = read_node(a_node("n2", unschedulable=True), OPTIONS)
    found = pool([gone, cordoned], {}, PoolCapacity())
    assert (found.total.cpu_m, found.available.cpu_m) == (15_000, 0)
    assert [node.state for node in listed_nodes([gone, cordoned], "k8s")] == [
        NodeState.UNREACHABLE,
        NodeState.CORDONED,
    ]


def test_nodes_that_the_cluster_file_does_not_select_are_not_there() -> None:
    options = KubernetesOptions(node_selector={"pool": "ml"})
    nodes = [read_node(a_node("n1", labels={"pool": "ml"}), options), read_node(a_node("n2"), options)]
    assert pool(nodes, {}, PoolCapacity()).total.cpu_m == 7_500
    assert [node.name for node in listed_nodes(nodes, "k8s")] == ["n1"]


@pytest.mark.parametrize(
    ("toleration", "state"),
    [
        ({"key": "gpu", "operator": "Exists"}, NodeState.READY),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, NodeState.READY),
        ({"operator": "Exists"}, NodeState.READY),
        ({"key": "gpu", "value": "no"}, NodeState.CORDONED),
        ({"key": "other", "operator": "Exists"}, NodeState.CORDONED),
    ],
)
def test_a_taint_keeps_tasks_out_unless_it_is_tolerated(toleration: dict[str, str], state: NodeState) -> None:
    options = KubernetesOptions(tolerations=(toleration,))
    node = read_node(a_node(taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]), options)
    (listed,) = listed_nodes([node], "k8s")
    assert listed.state is state


def test_a_pod_uses_what_its_containers_ask_for_or_its_largest_first_step() -> None:
    pod = {
        "spec": {
            "containers": [
                {"resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "2", "memory": "1Gi"}}},
                {"resources": {"requests": {"cpu": "500m"}}},
                {},
            ],
            "initContainers": [{"resources": {"requests": {"cpu": "100m", "memory": "4Gi"}}}],
        }
    }
    assert pod_usage(pod, OPTIONS) == Usage(1500, 4 * GIB, 2)


def test_gpus_of_a_model_are_asked_for_by_the_labels_of_its_nodes() -> None:
    nodes = [
        read_node(a_node("n1", gpus=2), OPTIONS),
        read_node(a_node("n2", gpus=2, product="NVIDIA-A100-PCIE-40GB"), OPTIONS),
        read_node(a_node("n3", gpus=2, product="Tesla-V100-SXM2-32GB"), OPTIONS),
    ]
    found = gpu_choice(Resources(gpus=1, gpu_models=("a100",)), nodes, OPTIONS)
    assert found.resource == "nvidia.com/gpu"
    assert found.products == {"nvidia.com/gpu.product": {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB"}}
    assert gpu_choice(Resources(gpus=1), nodes, OPTIONS).products == {}


def test_the_cluster_file_names_models() -> None:
    options = KubernetesOptions(gpu_models={"Tesla-T4-SHARED": "T4-shared"})
    assert read_node(a_node(gpus=1, product="Tesla-T4-SHARED"), options).model == "T4-shared"
