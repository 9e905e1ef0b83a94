"""`muster top`: all nodes with their GPUs, and one node with its cores."""

from typing import Any

import pytest

from muster.cli.tables.sparklines import sparkline
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


@pytest.mark.parametrize(
    ("values", "shown"), [([0, 50, 100], "▁▅█"), ([None, 200, -5], " █▁"), ([], ""), ([1, 2, 3, 4, 100], "▁▁█")]
)
def test_a_sparkline_shows_the_last_values(values: list[float | None], shown: str) -> None:
    assert sparkline(values, 100, 3) == shown
