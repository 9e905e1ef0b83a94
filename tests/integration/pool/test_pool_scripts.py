"""The programs of an admin on SSH hosts: each host is judged by itself."""

from pathlib import Path

from tests.parts.host_files import DISK
from tests.parts.hosts import HostPool
from tests.parts.ssh_cluster import log_of, on_hosts, serving, wait_for_nodes, wait_for_note

FAILING = f"{DISK}/broken"
CHECK = {"name": "disk", "command": ["sh", "-c", f"cat {FAILING} 2>/dev/null && exit 1 || exit 0"], "every": "1s"}


def noting(name: str) -> dict[str, list[str]]:
    script = (
        f'echo "{name} $MUSTER_OWNER $MUSTER_NODE $MUSTER_TASK_ID" >>{DISK}/ran; ! cat {FAILING}.{name} 2>/dev/null'
    )
    return {"command": ["sh", "-c", script]}


def test_hosts_are_held_by_their_own_checks_and_scripts(pool: HostPool, tmp_path: Path) -> None:
    first, second = pool.hosts[:2]
    scripts = {"healthChecks": [CHECK], "prolog": noting("prolog"), "epilog": noting("epilog")}
    with serving(tmp_path / "home", pool, (first, second), **scripts) as server:
        first.path(FAILING).write_text("sda has bad blocks\n")
        wait_for_note(server, first.name, "health check disk: sda has bad blocks", "Cordoned")
        job = server.submit(on_hosts("elsewhere", 1, "hostname"))
        assert server.wait(job["id"])["state"] == "Succeeded"
        assert log_of(server, job["id"], "worker-0") == f"{second.name}\n"
        ran = second.path(f"{DISK}/ran").read_text().splitlines()
        assert [line.split()[0] for line in ran if job["id"] in line] == ["prolog", "epilog"]
        assert all(line.split()[2] == second.name for line in ran)
        first.path(FAILING).unlink()
        wait_for_nodes(server, {first.name: "Ready"})

        second.path(f"{FAILING}.prolog").write_text("GPU 3 is gone\n")
        job = server.submit(on_hosts("both", 2, "hostname", retry={"max": 0}))
        wait_for_note(server, second.name, "GPU 3 is gone", "Cordoned")
        second.path(f"{FAILING}.prolog").unlink()
        assert server.wait(job["id"], 120)["state"] == "Succeeded"
