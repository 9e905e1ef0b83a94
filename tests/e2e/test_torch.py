"""Real PyTorch, told who is who by Muster alone: on this machine, and over two that are reached by SSH.

It is Debian's, so its interpreter is the system's, whichever the tests themselves run on. Hosts see the same one.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.example_runs import EXAMPLES, MusterServer, assert_ranks_agree, run_with_framework
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = pytest.mark.timeout(600)
PYTHON = Path("/usr/bin/python3")
_OUTPUT = ("-r", "1", "-t", "1")
"""Debian's torchrun stumbles over its own defaults for these two with Python 3.11."""
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"


@pytest.fixture(scope="module", autouse=True)
def torch_is_installed() -> None:
    """One that is there and cannot be imported fails the tests."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", _LOOK], check=False, timeout=60).returncode:
        pytest.skip(f"no PyTorch for {PYTHON} (python3-torch): run scripts/install-test-parts.sh as root")


def test_torch_ddp_sums_and_trains_over_gloo(muster_server: MusterServer, tmp_path: Path) -> None:
    env = {"GLOO_SOCKET_IFNAME": "lo"}
    assert_ranks_agree(run_with_framework(muster_server, "torch-ddp", tmp_path, PYTHON, env))


@pytest.mark.parametrize(
    ("launcher", "framework"),
    [
        ((str(PYTHON), "train.py"), "plain"),
        (("torchrun", *_OUTPUT, "train.py"), "torch"),
    ],
)
def test_a_gang_trains_together_although_nobody_named_a_framework(
    muster_server: MusterServer, launcher: tuple[str, ...], framework: str
) -> None:
    variables = ("-e", "GLOO_SOCKET_IFNAME=lo", "-e", "OMP_NUM_THREADS=1")
    command = (*launcher, "--steps", "40", "--lr", "0.3")
    package = ("--package", str(EXAMPLES / "torch-ddp/src"), "-o", "json")

    ended = muster_server.run("run", "--workers", "2", *package, *variables, "--", *command, timeout_s=280.0)

    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert sorted(re.findall(r"rank (\d) of 2 sum ([\d.]+)", ended.stdout)) == [("0", "3.0"), ("1", "3.0")]
    assert f'"framework": "{framework}"' in ended.stdout
    said = "framework: torch, because the command runs torchrun" in ended.stderr
    assert said is (framework == "torch")


@pytest.mark.skipif(hosts_unavailable() is not None, reason=hosts_unavailable() or "")
def test_a_torch_job_over_two_hosts_reaches_the_right_sum(tmp_path: Path) -> None:
    with HostPool(2) as pool, serving(tmp_path / "home", pool) as server:
        env = {"GLOO_SOCKET_IFNAME": "eth0"}  # of each host, towards the others
        run = run_with_framework(server, "torch-ddp", tmp_path, PYTHON, env, cluster=CLUSTER, where={"spread": "apart"})

    assert_ranks_agree(run)
    assert len({task["node"] for task in run.tasks.values()}) == 2
