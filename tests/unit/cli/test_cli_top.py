"""`muster top`: all nodes with their GPUs, and one node with its cores."""

from typing import Any

import pytest
from click import unstyle

from muster import Client
from muster.cli.tables.sparklines import sparkline
from muster.cli.tables.text_tables import display_width
from muster.cli.usage_views import Draw, node_view, nodes_view
from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast

USAGE: dict[str, Any] = {
    "cpuPercent": 42.4,
    "perCore": [10.0, 74.8],
    "load1": 1.5,
    "memoryUsedBytes": 2**32,
    "memoryTotalBytes": 2**34,
    "diskUsedBytes": 2**35,
    "diskTotalBytes": 2**36,
    "net": [
        {"name": "eth0", "speedMbit": 10000, "rxBytesS": 2048.0, "txBytesS": 1024.0},
        {"name": "ib0", "speedMbit": None, "rxBytesS": 1024.0, "txBytesS": 0.0},
    ],
    "gpus": [
        {
            "index": 0,
            "load": 87.0,
            "memoryUsedBytes": 20 * 2**30,
            "memoryTotalBytes": 80 * 2**30,
            "temperatureC": 65,
            "powerW": 210.4,
        },
        {"index": 1, "load": None, "memoryUsedBytes": None, "memoryTotalBytes": 80 * 2**30},
    ],
}


def a_node(name: str = "gpu-01", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "cluster": "lab",
        "state": "Ready",
        "cpu": {"total": "2", "used": "0"},
        "memory": {"total": 2**34, "used": 0},
        "gpus": [
            {"index": 0, "model": "A100", "used": 0.5, "job": "mnist", "outOfService": None},
            {"index": 1, "model": "A100", "used": 0, "job": None, "outOfService": "3 memory errors"},
        ],
        "tasks": 1,
        "note": "",
        "alerts": ["GPU 1 is out of service: 3 memory errors"],
        "usage": USAGE,
        **changes,
    }


@pytest.fixture
def busy(server: TinyServer) -> TinyServer:
    history = [{**USAGE, "cpuPercent": percent} for percent in (0.0, 50.0, 100.0)]
    server.on("GET", "/usage", Answer(200, {"nodes": [a_node()], "tasks": []}))
    server.on("GET", "/nodes/gpu-01", Answer(200, a_node()))
    server.on("GET", "/nodes/gpu-01/usage", Answer(200, {"node": "gpu-01", "items": history}))
    return server


def test_all_nodes_show_cpu_memory_disk_network_and_a_line_a_card(busy: TinyServer) -> None:
    titles, node, _, _, card, broken, *_ = muster(busy, "top", "--once").out.splitlines()
    assert " ".join(titles.split()) == "NODE STATE CPU RECENT LOAD MEMORY DISK IN OUT GPU TASKS"
    assert "42%" in node
    assert "▁▅█" in node
    assert "4.0 GiB/16.0 GiB" in node
    assert "32.0 GiB/64.0 GiB" in node
    assert "3.0 KiB/s" in node
    assert "1.0 KiB/s" in node
    assert " ".join(card.split()) == "gpu-01 0 A100 87% 20.0 GiB/80.0 GiB 65 °C 210 W mnist (0.5 of it)"
    assert broken.endswith("out of service: 3 memory errors")


def test_one_node_shows_its_cores_links_cards_and_alerts(busy: TinyServer) -> None:
    out = muster(busy, "top", "gpu-01", "--once").out
    assert "   0:  10   1:  75" in out.splitlines()
    assert "10000 Mbit/s" in out
    assert "▇▇▇" in out  # the load of GPU 0
    assert "! GPU 1 is out of service: 3 memory errors" in out


def test_what_a_cluster_does_not_measure_is_left_out(server: TinyServer) -> None:
    measured = {"cpuPercent": 12.0, "memoryUsedBytes": 2**32, "memoryTotalBytes": 2**34}
    node = a_node(usage=measured, running=[], labels={})
    task = {"task": "mnist-worker-0", "job": "mnist", "owner": "amy", "node": "gpu-01", "cpuPercent": 250.0}
    tasks = [{**task, "rssBytes": 2**20, "processes": None}]
    server.on("GET", "/nodes/gpu-01", Answer(200, node))
    server.on("GET", "/nodes/gpu-01/usage", Answer(200, {"node": "gpu-01", "items": [measured]}))
    server.on("GET", "/usage", Answer(200, {"nodes": [node], "tasks": tasks}))
    out = muster(server, "top", "gpu-01", "--once").out
    assert "12%" in out
    assert "Cores" not in out
    assert "250%" in out
    described = muster(server, "node", "describe", "gpu-01").out
    assert "12 %" in described
    assert "Load" not in described


def test_describe_and_doctor_say_why_usage_is_not_known(server: TinyServer) -> None:
    why = "usage is not known: the cluster has no metrics API: install metrics-server"
    cluster = {"name": "k8s", "backend": "kubernetes", "nodes": 1, "state": "Ready", "notes": [why]}
    server.on("GET", "/clusters", Answer(200, {"items": [cluster]}))
    server.on("GET", "/nodes", Answer(200, {"items": []}))
    server.on("GET", "/healthz", Answer(200, {}))
    server.on("GET", "/whoami", Answer(200, {"user": "amy", "role": "user", "server": {"version": "1"}}))
    assert why in muster(server, "describe", "cluster/k8s").out
    assert why in muster(server, "doctor").out


def test_programs_get_the_node_with_its_history(busy: TinyServer) -> None:
    document = muster(busy, "top", "gpu-01", "-o", "json").document
    assert document["node"]["name"] == "gpu-01"
    assert [sample["cpuPercent"] for sample in document["history"]] == [0.0, 50.0, 100.0]
    assert set(muster(busy, "top", "-o", "json").document) == {"nodes", "tasks"}


def test_a_large_pool_shows_the_cards_that_matter_and_asks_once(server: TinyServer) -> None:
    free = {"index": 0, "model": "A100", "used": 0, "job": None, "outOfService": None}
    nodes = [a_node(f"n{number}", gpus=[free]) for number in range(60)]
    server.on("GET", "/usage", Answer(200, {"nodes": [*nodes, a_node()], "tasks": []}))
    out = muster(server, "top", "--once").out
    assert "mnist" in out
    assert "and 60 more: muster top NODE" in out


def test_a_node_that_nothing_was_heard_of_has_no_figures(server: TinyServer) -> None:
    server.on("GET", "/usage", Answer(200, {"nodes": [], "tasks": []}))
    server.on("GET", "/nodes/gpu-01", Answer(200, a_node(usage=None, gpus=[])))
    server.on("GET", "/nodes/gpu-01/usage", Answer(200, {"node": "gpu-01", "items": []}))
    assert "there are no metrics of this node yet" in muster(server, "top", "gpu-01", "--once").out


WIDE_USAGE: dict[str, Any] = {
    **USAGE,
    "cpuPercent": 100.0,
    "perCore": [100.0] * 128,
    "load1": 1234.56,
    "memoryUsedBytes": 1023 * 2**30 + 2**29,
    "memoryTotalBytes": 1023 * 2**30 + 2**29,
    "net": [
        {"name": "enp193s0f0np0.4094", "speedMbit": 400000, "rxBytesS": 1023.5 * 2**30, "txBytesS": 1023.5 * 2**30}
    ],
    "gpus": [{**USAGE["gpus"][0], "load": 100.0, "temperatureC": 105, "powerW": 1000.0}],
}


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("draw", [nodes_view, node_view("gpu-01")], ids=["all nodes", "one node"])
def test_no_line_is_wider_than_the_terminal(server: TinyServer, draw: Draw, width: int) -> None:
    long_name = "a-name-" * 9
    gpu = {"index": 127, "model": "NVIDIA-H100-80GB-HBM3-SXM5", "used": 0.5, "job": long_name, "outOfService": "x" * 60}
    node = a_node(
        name="gpu-01.the-rack.the-room.example",
        gpus=[gpu] * 8,
        memory={"total": WIDE_USAGE["memoryTotalBytes"], "used": 0},
        tasks=100000,
        alerts=[f"GPU 1 is out of service: {'x' * 90}"],
        usage=WIDE_USAGE,
    )
    task = {"task": f"{long_name}worker-0", "job": long_name, "owner": "somebody", "node": node["name"]}
    busy = {**task, "cpuPercent": 12800.0, "rssBytes": WIDE_USAGE["memoryTotalBytes"], "processes": 100000}
    server.on("GET", "/usage", Answer(200, {"nodes": [node], "tasks": [busy]}))
    server.on("GET", "/nodes/gpu-01", Answer(200, node))
    for name in ("gpu-01", node["name"]):
        server.on("GET", f"/nodes/{name}/usage", Answer(200, {"node": name, "items": [WIDE_USAGE] * 60}))
    lines = unstyle(draw(Client(server.url), width)).splitlines()
    assert any(line.startswith("NODE") for line in lines)
    assert [line for line in lines if display_width(line) > width] == []


@pytest.mark.parametrize(
    ("values", "shown"), [([0, 50, 100], "▁▅█"), ([None, 200, -5], " █▁"), ([], ""), ([1, 2, 3, 4, 100], "▁▁█")]
)
def test_a_sparkline_shows_the_last_values(values: list[float | None], shown: str) -> None:
    assert sparkline(values, 100, 3) == shown


def test_nodes_of_several_clusters_are_told_apart(server: TinyServer) -> None:
    nodes = [a_node(usage=None), a_node(usage=None, cluster="k8s")]
    server.on("GET", "/usage", Answer(200, {"nodes": nodes, "tasks": []}))
    lines = muster(server, "top", "--once").out.splitlines()
    assert lines[0].split()[:2] == ["CLUSTER", "NODE"]
    assert [line.split()[:2] for line in lines[1:3]] == [["lab", "gpu-01"], ["k8s", "gpu-01"]]
    assert [line.split()[:3] for line in lines[4:7:2]] == [["CLUSTER", "NODE", "GPU"], ["lab", "gpu-01", "1"]]
