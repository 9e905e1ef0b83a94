"""Setups on SSH hosts: each host prepares once, for all tasks and later jobs on it."""

from pathlib import Path

from tests.parts.host_files import DISK
from tests.parts.hosts import HostPool
from tests.parts.ssh_cluster import CLUSTER, log_of, serving
from tests.parts.tiny_wheel import make_wheel

SPEC = f"""\
name: {{name}}
cluster: {CLUSTER}
package: .
setup: "echo $MUSTER_NODE >>{DISK}/prepared; pip install -q --no-index --find-links wheels mypkg"
command: python -c 'import mypkg; print("answer", mypkg.ANSWER)'
replicas: 4
resources: {{{{cpu: 0.1}}}}
where: {{{{nodes: [{{nodes}}]}}}}
"""


def test_each_host_installs_once_for_all_tasks_and_later_jobs(pool: HostPool, tmp_path: Path) -> None:
    hosts = pool.hosts[:2]
    make_wheel(tmp_path / "code" / "wheels")
    with serving(tmp_path / "home", pool, hosts) as server:
        for name in ("first", "second"):
            job = tmp_path / "code" / f"{name}.yaml"
            job.write_text(SPEC.format(name=name, nodes=", ".join(host.name for host in hosts)))
        for name in ("first", "second"):
            server.run("submit", str(tmp_path / "code" / f"{name}.yaml"), check=True)
            assert server.wait(name, 120)["state"] == "Succeeded", log_of(server, name, "worker-0")
            assert log_of(server, name, "worker-3").endswith("answer 42\n")
        ran = [host.path(f"{DISK}/prepared") for host in hosts]
        assert all(path.read_text().count("\n") == 1 for path in ran if path.exists())
        assert any(path.exists() for path in ran)
        assert "by job first" in log_of(server, "second", "worker-0")
