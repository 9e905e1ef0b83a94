"""Real frameworks over two machines that are reached by SSH, told who is who by Muster alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.example_runs import EXAMPLES, run_example
from tests.e2e.test_frameworks import INTERPRETER_VARIABLE, PYTHON, assert_ranks_agree
from tests.parts.hosts import HostPool, hosts_unavailable
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON}: run scripts/install-frameworks.sh"),
    pytest.mark.skipif(hosts_unavailable() is not None, reason=hosts_unavailable() or ""),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with HostPool(2) as pool, serving(tmp_path_factory.mktemp("home"), pool) as made:
        yield made


@pytest.mark.parametrize("example", ["paddle-collective", "torch-ddp"])
def test_a_collective_job_over_two_hosts_reaches_the_right_sum(
    server: MusterServer, example: str, tmp_path: Path
) -> None:
    copy = tmp_path / example
    shutil.copytree(EXAMPLES / example, copy)
    job = yaml.safe_load((copy / "job.yaml").read_text())
    job["env"][INTERPRETER_VARIABLE] = str(PYTHON)
    job |= {"cluster": CLUSTER, "where": {"spread": "apart"}}
    (copy / "job.yaml").write_text(yaml.safe_dump(job))

    run = run_example(server, copy / "job.yaml")

    assert_ranks_agree(run)
    assert len({task["node"] for task in run.tasks.values()}) == 2
