"""Data without shared storage: inputs go to the nodes over the connection, outputs come back, and lines may break."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.host import Host
from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, ROOT, serving


@pytest.fixture(scope="module")
def server(pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with serving(tmp_path_factory.mktemp("home"), pool) as made:
        yield made


def blobs(host: Host) -> list[Path]:
    """What the node was sent, whole or half."""
    return [path for path in host.path(ROOT).glob("**/blobs/*") if path.is_file()]


def job_file(folder: Path, name: str, *lines: str) -> str:
    path = folder / "job.yaml"
    path.write_text("\n".join([f"name: {name}", f"cluster: {CLUSTER}", "resources: {cpu: 0.1}", *lines, ""]))
    return str(path)


def test_inputs_reach_every_host_and_outputs_come_back(server: MusterServer, pool: HostPool, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/a").write_text("from here")
    lines = (
        "inputs: [{source: rows, target: data/rows}]",
        "outputs: [model/]",
        "replicas: 2",
        "where: {spread: apart}",
        "command: mkdir model; cat data/rows/a > model/w; hostname >> model/w",
    )
    server.run("submit", job_file(tmp_path, "data", *lines), "--wait", check=True)
    server.run("outputs", "data", "--get", str(tmp_path / "got"), check=True)
    found = [(tmp_path / f"got/worker-{index}/model/w").read_text() for index in range(2)]
    assert {text.removeprefix("from here").strip() for text in found} <= {host.name for host in pool.hosts}
    assert found[0] != found[1]


def test_a_package_goes_on_where_the_line_broke(server: MusterServer, pool: HostPool, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(os.urandom(48 << 20))
    host = pool[0]
    before = set(blobs(host))
    path = job_file(
        tmp_path, "broken", "inputs: weights", f"where: {{nodes: {host.name}}}", "command: sha256sum < weights"
    )
    server.run("submit", path, check=True)
    for _ in polls(60, 0.005):
        if set(blobs(host)) - before:
            break
    host.kill_sshd()
    host.start_sshd()
    assert server.wait("broken", 120)["state"] == "Succeeded"
    (whole,) = set(blobs(host)) - before
    assert not whole.name.endswith(".partial")
