"""PaddlePaddle itself trains on a real Kubernetes, by the operator alone and by Muster: two workers that sum over gloo.

The image of the test cluster has no PaddlePaddle. Pods have the virtual environment of scripts/install-frameworks.sh
from their node, read-only, and the node's own /usr with the system libraries and the Python packages that it builds on,
so that no image of some gigabytes has to be made.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.example_runs import EXAMPLES, assert_ranks_agree, run_with_framework
from tests.e2e.test_frameworks import PYTHON
from tests.parts.kube import KubeNamespace, Object, phase
from tests.parts.kube_server import CLUSTER, PADDLE_CLUSTER, server_over
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import install_definition, paddle_job, paddle_role

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not PYTHON.exists(), reason=f"no {PYTHON}: run scripts/install-frameworks.sh"),
    pytest.mark.xdist_group("paddle-training"),
]
ENVIRONMENT = PYTHON.parents[1]
QUIET = {"PYTHONWARNINGS": "ignore", "GLOG_minloglevel": "2"}
SYSTEM = {"usr": "/usr", "alternatives": "/etc/alternatives"}
"""Folders of the nodes. Debian's libraries for linear algebra are links through the second one."""
WITHIN_S = 200.0


@pytest.fixture
def place(namespace: KubeNamespace, tmp_path: Path) -> Iterator[KubeNamespace]:
    """A namespace that an operator serves."""
    kube = namespace.kube
    install_definition(kube)
    with running_operator(kube.cluster.kubeconfig, tmp_path / "operator.log", f"--namespace={namespace.name}"):
        yield namespace


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_a_paddle_job_trains_to_its_end(place: KubeNamespace, intranet: str) -> None:
    place.create(paddle_job("trains", intranet=intranet, cleanPodPolicy="Never", worker=_workers(2)))
    place.await_object("PaddleJob", "trains", lambda job: phase(job) in ("Completed", "Failed"), WITHIN_S)
    logs = {name: place.logs(name) for name in ("trains-worker-0", "trains-worker-1")}
    assert phase(place.get("PaddleJob", "trains")) == "Completed", logs
    for rank, log in enumerate(logs.values()):
        assert f"rank {rank} of 2 sum 3.0 (wanted: 3.0)" in log
        assert re.search(rf"rank {rank} weights .* identical on all ranks: True, right: True", log), log


@pytest.mark.parametrize("cluster", [CLUSTER, PADDLE_CLUSTER])
def test_the_example_trains_as_a_job_of_muster(place: KubeNamespace, cluster: str, tmp_path: Path) -> None:
    folders = {"frameworks": str(ENVIRONMENT), **SYSTEM}
    with server_over(place, tmp_path / "home", {"folders": folders, "imagePullPolicy": "Never"}) as server:
        run = run_with_framework(
            server,
            "paddle-collective",
            tmp_path,
            PYTHON,
            cluster=cluster,
            runtime={"venv": str(ENVIRONMENT)},
            mounts=[{"source": name, "target": path, "readOnly": True} for name, path in SYSTEM.items()],
        )
    assert_ranks_agree(run)
    assert {task["node"] for task in run.tasks.values()} <= {"n1", "n2"}


def _workers(replicas: int) -> Object:
    folders = {**SYSTEM, "frameworks": str(ENVIRONMENT), "src": str(EXAMPLES / "paddle-collective" / "src")}
    role = paddle_role(
        replicas,
        (str(PYTHON), f"{folders['src']}/train.py"),
        volumes=[{"name": name, "hostPath": {"path": path}} for name, path in folders.items()],
    )
    (container,) = role["template"]["spec"]["containers"]
    container["volumeMounts"] = [{"name": name, "mountPath": path, "readOnly": True} for name, path in folders.items()]
    container["env"] = [{"name": name, "value": value} for name, value in QUIET.items()]
    return role
