"""What the nodes and tasks of a Kubernetes cluster use: answers of the documented shapes, from a tiny API server."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from muster.backends.kubernetes.cluster_usage import ClusterUsage
from muster.backends.kubernetes.cluster_view import ClusterView
from muster.backends.kubernetes.names import own_labels, selector
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.used_resources import UsedResources
from muster.kubernetes.connection import connect
from muster.lib.clock import wall_clock
from muster.ports.capabilities import TaskUsage
from tests.unit.backends.kubernetes.building import TASK, a_node, a_pod, running

pytestmark = pytest.mark.fast

METRICS = "/apis/metrics.k8s.io/v1beta1"
SUMMARY = "/api/v1/nodes/n1/proxy/stats/summary"
LABELS = own_labels("server", "k8s")
DENIED = {"kind": "Status", "reason": "Forbidden", "message": "no"}
Answer = tuple[int, Any]


@dataclass
class TinyCluster:
    """Answers each path as the test says, and 404 otherwise. Watches bring nothing."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def measurements(self) -> list[str]:
        return [path for path in self.asked if METRICS in path or path == SUMMARY]


@pytest.fixture
def api() -> Iterator[TinyCluster]:
    tiny = TinyCluster()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            is_watch = "watch=true" in split.query
            if not is_watch:
                tiny.asked.append(split.path)
            status, body = (200, None) if is_watch else tiny.answers.get(split.path, (404, "404 page not found"))
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            """A client that goes in the middle of an answer is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    tiny.url = f"http://127.0.0.1:{server.server_port}"
    tiny.answers["/api/v1/nodes"] = listed(node())
    tiny.answers["/api/v1/pods"] = listed()
    Thread(target=server.serve_forever, daemon=True).start()
    yield tiny
    server.shutdown()
    server.server_close()


def listed(*items: Any) -> Answer:
    return 200, {"metadata": {"resourceVersion": "7"}, "items": list(items)}


def node() -> dict[str, Any]:
    one = a_node()
    one["status"]["capacity"] = {"cpu": "8", "memory": "64Gi"}
    return one


def task_pod() -> dict[str, Any]:
    pod = a_pod(running())
    pod["metadata"]["labels"] |= LABELS
    return pod


def metrics_api(api: TinyCluster) -> None:
    when = {"timestamp": "2026-01-02T03:04:05Z", "window": "15s"}
    usage = {"cpu": "2000000000n", "memory": "1048576Ki"}
    api.answers[f"{METRICS}/nodes"] = listed({"metadata": {"name": "n1"}, **when, "usage": usage})
    containers = [
        {"name": "task", "usage": {"cpu": "250m", "memory": "200Mi"}},
        {"name": "other", "usage": {"cpu": "9", "memory": "9Gi"}},
    ]
    name = {"name": "muster-j1-1-worker-0", "namespace": "ml"}
    api.answers[f"{METRICS}/pods"] = listed({"metadata": name, **when, "containers": containers})


def summary(time: str = "2026-01-02T03:04:05Z", received: int = 1000) -> dict[str, Any]:
    cpu = {"time": time, "usageNanoCores": 4_000_000_000, "usageCoreNanoSeconds": 1}
    memory = {"time": time, "workingSetBytes": 2**34, "availableBytes": 1}
    links = [{"name": "eth0", "rxBytes": received, "txBytes": 5}]
    container = {
        "name": "task",
        "cpu": {"time": time, "usageNanoCores": 500_000_000},
        "memory": {"workingSetBytes": 4096},
    }
    pod = {
        "podRef": {"name": "muster-j1-1-worker-0", "namespace": "ml"},
        "containers": [container],
        "process_stats": {"process_count": 3},
    }
    disk = {"capacityBytes": 100, "usedBytes": 60, "availableBytes": 40}
    of_node = {"nodeName": "n1", "cpu": cpu, "memory": memory, "fs": disk}
    of_node["network"] = {"time": time, "name": "eth0", "interfaces": links}
    return {"node": of_node, "pods": [pod]}


def with_usage(api: TinyCluster, folder: Path, act: Callable[[ClusterUsage], Awaitable[None]], every_s: float) -> None:
    """The usage of the cluster, asked for in the background."""

    async def scenario() -> None:
        config = folder / "kubeconfig"
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        document = {
            "clusters": [{"name": "c", "cluster": {"server": api.url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [context],
            "current-context": "c",
        }
        config.write_text(json.dumps(document))
        connection = connect(config)
        view = ClusterView(connection, None, KubernetesOptions(), LABELS, lambda _: None, lambda: None)
        usage = ClusterUsage(wall_clock, every_s)
        watching = asyncio.create_task(view.run())
        await view.pods.synced.wait()
        asking = asyncio.create_task(usage.run(connection, view, None, selector(LABELS)))
        try:
            async with asyncio.timeout(60):
                await view.node_objects.synced.wait()
                await asyncio.sleep(0)
                await act(usage)
        finally:
            for task in (asking, watching):
                task.cancel()
            await asyncio.gather(asking, watching, return_exceptions=True)
            await connection.close()

    asyncio.run(scenario())


async def becomes(usage: ClusterUsage, condition: Callable[[], object]) -> None:
    """Look again and again."""
    while not condition():
        await usage.look()
        await asyncio.sleep(0.005)


def test_the_metrics_api_says_what_nodes_and_tasks_use(api: TinyCluster, tmp_path: Path) -> None:
    metrics_api(api)
    api.answers["/api/v1/pods"] = listed(task_pod())

    async def act(usage: ClusterUsage) -> None:
        await becomes(usage, usage.latest)
        found = usage.latest()["n1"]
        assert found.metrics["cpu_percent"] == 25.0
        assert (found.metrics["memory_used_bytes"], found.metrics["memory_total_bytes"]) == (2**30, 2**36)
        assert found.tasks == {
            TASK: TaskUsage(25.0, 200 << 20, None, UsedResources(75.0, 0.25, 200 << 20, (), is_sampled=True))
        }
        assert usage.used(TASK) == found.tasks[TASK].used
        usage.forget(TASK)
        assert usage.used(TASK) is None
        assert found.at == 1767323045.0
        assert usage.unknown_why() == ""
        (sample,) = usage.history("n1")
        assert not sample.tasks

    with_usage(api, tmp_path, act, every_s=600)


def test_a_measurement_that_is_asked_for_again_is_in_the_history_once(api: TinyCluster, tmp_path: Path) -> None:
    metrics_api(api)

    async def act(usage: ClusterUsage) -> None:
        await becomes(usage, lambda: api.measurements().count(f"{METRICS}/pods") >= 4)
        assert len(usage.history("n1")) == 1

    with_usage(api, tmp_path, act, every_s=0.0)


def test_without_a_metrics_api_the_kubelets_are_asked(api: TinyCluster, tmp_path: Path) -> None:
    api.answers["/api/v1/pods"] = listed(task_pod())
    api.answers[SUMMARY] = 200, summary()

    async def act(usage: ClusterUsage) -> None:
        await becomes(usage, usage.latest)
        first = usage.latest()["n1"]
        assert first.metrics["cpu_percent"] == 50.0
        assert (first.metrics["disk_used_bytes"], first.metrics["disk_total_bytes"]) == (60, 100)
        assert first.metrics["net"] == [], "a rate needs two moments"
        assert first.tasks == {TASK: TaskUsage(50.0, 4096, 3, first.tasks[TASK].used)}
        api.answers[SUMMARY] = 200, summary("2026-01-02T03:04:15Z", received=3000)
        await becomes(usage, lambda: len(usage.history("n1")) == 2)
        assert usage.latest()["n1"].metrics["net"] == [{"name": "eth0", "rx_bytes_s": 200.0, "tx_bytes_s": 0.0}]

    with_usage(api, tmp_path, act, every_s=0.0)


def test_usage_that_nobody_may_read_is_unknown_and_says_why(api: TinyCluster, tmp_path: Path) -> None:
    api.answers[f"{METRICS}/nodes"] = 403, DENIED
    api.answers[SUMMARY] = 403, DENIED

    async def act(usage: ClusterUsage) -> None:
        await becomes(usage, usage.unknown_why)
        assert "may not list nodes and pods of metrics.k8s.io" in usage.unknown_why()
        assert "nodes/proxy" in usage.unknown_why()
        before = len(api.measurements())
        for _ in range(3):
            await usage.look()
        assert len(api.measurements()) == before, "what was refused is not asked for again and again"
        assert not usage.latest()

    with_usage(api, tmp_path, act, every_s=0.0)


def test_a_metrics_server_that_is_down_is_asked_again(api: TinyCluster, tmp_path: Path) -> None:
    api.answers[f"{METRICS}/nodes"] = 503, "service unavailable"
    api.answers[SUMMARY] = 403, DENIED

    async def act(usage: ClusterUsage) -> None:
        await becomes(usage, usage.unknown_why)
        assert "the metrics API does not answer" in usage.unknown_why()
        metrics_api(api)
        await becomes(usage, usage.latest)
        assert usage.unknown_why() == ""

    with_usage(api, tmp_path, act, every_s=0.0)


def test_nothing_is_asked_while_nothing_runs_and_nobody_looks(api: TinyCluster, tmp_path: Path) -> None:
    metrics_api(api)

    async def act(usage: ClusterUsage) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        assert not api.measurements()
        await becomes(usage, usage.latest)

    with_usage(api, tmp_path, act, every_s=0.001)


def test_while_a_task_runs_samples_come_without_anybody_looking(api: TinyCluster, tmp_path: Path) -> None:
    metrics_api(api)
    api.answers["/api/v1/pods"] = listed(task_pod())

    async def act(usage: ClusterUsage) -> None:
        while not api.measurements():
            await asyncio.sleep(0.01)

    with_usage(api, tmp_path, act, every_s=0.05)
