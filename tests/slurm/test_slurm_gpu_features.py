"""Which GPUs a node has may be said by its features alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import serving_slurm
from tests.parts.slurm_sharing import SharedSlurm, mend_cluster

pytestmark = pytest.mark.slurm


@pytest.fixture
def slurm(shared_slurm: SharedSlurm) -> Iterator[RealSlurm]:
    cluster = shared_slurm.cluster(SlurmOptions(has_gpu_types=False))
    yield cluster
    mend_cluster(cluster)


@pytest.fixture
def server(slurm: RealSlurm, tmp_path: Path) -> Iterator[MusterServer]:
    with serving_slurm(tmp_path / "home", slurm, gpuFeatures={"a100": "A100", "v100": "V100"}) as server:
        yield server


def test_job_gets_the_model_that_it_asks_for_by_the_feature_of_its_nodes(
    slurm: RealSlurm, server: MusterServer
) -> None:
    resources = {"cpu": 1, "gpu": 2, "gpuType": "V100"}
    first = submit_noting(server, slurm, "first", resources=resources)
    first.await_running()
    second = submit_noting(server, slurm, "second", resources={**resources, "gpuType": "A100"})
    second.await_running()

    assert (first.node in ("n3", "n4"), second.node in ("n1", "n2")) == (True, True)
    nodes = server.call("GET", "/api/v1/nodes")[1]["items"]
    models = {node["name"]: [gpu["model"] for gpu in node["gpus"]] for node in nodes if node["cluster"] == "hpc"}
    assert models == {"n1": ["A100"] * 2, "n2": ["A100"] * 2, "n3": ["V100"] * 4, "n4": ["V100"] * 4}
    first.let_go()
    second.let_go()


def test_model_that_no_feature_stands_for_is_refused(server: MusterServer) -> None:
    spec = {"name": "other", "cluster": "hpc", "command": "true", "resources": {"gpu": 1, "gpuType": "H100"}}
    status, answer = server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert status == 422, answer
    assert "H100" in str(answer)
