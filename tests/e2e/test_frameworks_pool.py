"""Real frameworks over two machines that are reached by SSH, told who is who by Muster alone."""

from pathlib import Path

import pytest

from tests.e2e.example_runs import assert_ranks_agree, run_with_framework
from tests.e2e.test_frameworks import PYTHON
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON}: run scripts/install-frameworks.sh"),
    pytest.mark.skipif(hosts_unavailable() is not None, reason=hosts_unavailable() or ""),
]


def test_a_paddle_job_over_two_hosts_reaches_the_right_sum(tmp_path: Path) -> None:
    with HostPool(2) as pool, serving(tmp_path / "home", pool) as server:
        run = run_with_framework(
            server, "paddle-collective", tmp_path, PYTHON, cluster=CLUSTER, where={"spread": "apart"}
        )

    assert_ranks_agree(run)
    assert len({task["node"] for task in run.tasks.values()}) == 2
