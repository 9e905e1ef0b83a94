"""Jobs over several machines that are reached by SSH."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import CLUSTER, log_of, nodes, on_hosts, serving


@pytest.fixture(scope="module")
def server(pool: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with serving(tmp_path_factory.mktemp("home"), pool) as made:
        yield made


def test_nodes_have_their_own_addresses_and_what_their_agents_found(server: MusterServer, pool: HostPool) -> None:
    found = nodes(server)
    assert {name: node["address"] for name, node in found.items()} == {h.name: h.address for h in pool.hosts}
    assert all(node["memory"]["total"] > 0 for node in found.values())


def test_a_gang_runs_on_as_many_hosts(server: MusterServer, pool: HostPool) -> None:
    job = server.submit(on_hosts("hello", 4, "hostname"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    said = {log_of(server, job["id"], f"worker-{index}").strip() for index in range(4)}
    assert said == {host.name for host in pool.hosts}


_SERVER = r"""
import os, socket
listening = socket.create_server(("", int(os.environ["PADDLE_PORT"])))
total = 0
for _ in range(int(os.environ["PADDLE_TRAINERS_NUM"])):
    line, _ = listening.accept()
    with line:
        total += int(line.makefile().readline())
print("sum", total)
"""
_WORKER = r"""
import os, socket, time
for endpoint in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(","):
    host, port = endpoint.rsplit(":", 1)
    for _ in range(1200):
        try:
            line = socket.create_connection((host, int(port)), 5)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    with line:
        line.sendall(b"%d\n" % (int(os.environ["PADDLE_TRAINER_ID"]) + 1))
    print("told", endpoint)
"""


def test_parameter_servers_and_workers_reach_each_other_across_hosts(server: MusterServer, pool: HostPool) -> None:
    role = {"replicas": 2, "resources": {"cpu": 0.1}}
    spec = {
        "name": "ps-job",
        "cluster": CLUSTER,
        "framework": "paddle",
        "where": {"spread": "apart"},
        "roles": {
            "ps": {**role, "command": ["python3", "-c", _SERVER]},
            "worker": {**role, "command": ["python3", "-c", _WORKER]},
        },
    }
    job = server.submit(spec)
    ended = server.wait(job["id"])
    assert ended["state"] == "Succeeded", [log_of(server, job["id"], f"{r}-0") for r in ("ps", "worker")]
    assert [log_of(server, job["id"], f"ps-{index}").strip() for index in range(2)] == ["sum 3", "sum 3"]
    endpoints = {line.split()[1].rsplit(":")[0] for line in log_of(server, job["id"], "worker-0").splitlines()}
    assert endpoints <= {host.address for host in pool.hosts}
    assert len(endpoints) == 2


def test_a_package_is_carried_to_the_nodes(server: MusterServer, pool: HostPool, tmp_path: Path) -> None:
    (tmp_path / "say.py").write_text("print('carried')\n")
    job_file = tmp_path / "job.yaml"
    job_file.write_text(
        f"name: packed\ncluster: {CLUSTER}\npackage: .\nreplicas: 2\ncommand: python3 say.py\n"
        "resources: {cpu: 0.1}\nwhere: {spread: apart}\n"
    )
    done = server.run("submit", str(job_file), "--wait", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert log_of(server, "packed", "worker-1") == "carried\n"
