"""Real PyTorch, told who is who by Muster alone: on this machine, and over two that are reached by SSH.

It is Debian's, so its interpreter is the system's, whichever the tests themselves run on. Hosts see the same one.
"""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.example_runs import MusterServer, assert_ranks_agree, run_with_framework
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = pytest.mark.timeout(600)
PYTHON = Path("/usr/bin/python3")
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"


@pytest.fixture(scope="module", autouse=True)
def torch_is_installed() -> None:
    """One that is there and cannot be imported fails the tests."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", _LOOK], check=False, timeout=60).returncode:
        pytest.skip(f"no PyTorch for {PYTHON} (python3-torch): run scripts/install-test-parts.sh as root")


def test_torch_ddp_sums_and_trains_over_gloo(muster_server: MusterServer, tmp_path: Path) -> None:
    env = {"GLOO_SOCKET_IFNAME": "lo"}
    assert_ranks_agree(run_with_framework(muster_server, "torch-ddp", tmp_path, PYTHON, env))


@pytest.mark.skipif(hosts_unavailable() is not None, reason=hosts_unavailable() or "")
def test_a_torch_job_over_two_hosts_reaches_the_right_sum(tmp_path: Path) -> None:
    with HostPool(2) as pool, serving(tmp_path / "home", pool) as server:
        env = {"GLOO_SOCKET_IFNAME": "eth0"}  # of each host, towards the others
        run = run_with_framework(server, "torch-ddp", tmp_path, PYTHON, env, cluster=CLUSTER, where={"spread": "apart"})

    assert_ranks_agree(run)
    assert len({task["node"] for task in run.tasks.values()}) == 2
