"""What the tests of the guides cannot follow: a short list, which grows only on purpose."""

from collections import Counter

import pytest

from tests.guides.steps import NotRun, read_steps
from tests.unit.docs.pages import ROOT, pages

pytestmark = pytest.mark.fast

NOT_RUN = {
    "docs/guides/alerts.md": {"the addresses and numbers differ": 1},
    "docs/guides/another-server.md": {"it needs two servers with a login": 1},
    "README.md": {
        "it runs for a quarter of an hour": 1,
        "it needs a Kubernetes cluster; make test-kube does the same": 1,
    },
    "README.zh-CN.md": {
        "it runs for a quarter of an hour": 1,
        "it needs a Kubernetes cluster; make test-kube does the same": 1,
    },
    "docs/guides/data.md": {
        "it needs machines whose folders are not in order": 1,
    },
    "docs/guides/devices.md": {
        "it needs devices other than GPUs; tests/integration/pool has some": 1,
    },
    "docs/guides/environments.md": {
        "it needs conda with several frameworks": 1,
    },
    "docs/guides/exec.md": {
        "JOB stands for a job of yours": 1,
        "it needs a terminal": 1,
    },
    "docs/guides/experiments.md": {
        "a part of a job only": 1,
        "the page presumes it as the file train.py": 1,
        "needs MLflow": 2,
    },
    "docs/guides/gpus.md": {
        "it needs a real GPU": 1,
        "it would start a second server": 1,
    },
    "docs/guides/interactive.md": {
        "it needs a terminal": 1,
        "it goes on until somebody ends the job": 1,
    },
    "docs/guides/isolation.md": {
        "it installs a helper for root; tests/integration/pool has one": 1,
    },
    "docs/guides/kubernetes.md": {
        "it needs a Kubernetes cluster; make test-kube does the same": 1,
    },
    "docs/guides/monitoring.md": {
        "it installs Prometheus for the machine": 1,
        "it needs InfluxDB": 1,
        "it needs Grafana": 1,
    },
    "docs/guides/nodes.md": {
        "it needs a machine with a broken network": 1,
    },
    "docs/guides/notebooks.md": {
        "it needs JupyterLab": 1,
        "it needs TensorBoard": 1,
        "it runs until Ctrl-C": 1,
    },
    "docs/guides/paddlecloud-client.md": {
        "it builds the file from a clone of the repository; the conformance tests do the same": 1,
    },
    "docs/guides/paddlejob.md": {
        "it needs a Kubernetes cluster; make test-kube does the same": 1,
    },
    "docs/guides/production.md": {
        "it sets up a machine; make test-shipping follows it": 1,
    },
    "docs/guides/server.md": {
        "it would be a second server": 1,
        "it needs a terminal": 1,
        "it shows a server that has taken over": 1,
        "it would switch off the machine that the page uses": 1,
        "it sets up a machine; make test-shipping does the same": 3,
    },
    "docs/guides/sign-in.md": {
        "it needs an identity provider; tests/integration/sign_in has real ones": 1,
    },
    "docs/guides/slurm.md": {
        "it names keys that are not there": 1,
    },
    "docs/guides/ssh-pool.md": {
        "it names machines that are not there": 4,
    },
    "docs/guides/task-environment.md": {
        "it needs PyTorch": 1,
        "it runs in a task; examples/file-sharding has it": 1,
    },
    "docs/guides/two-servers.md": {
        "it needs two machines and a shared folder": 1,
        "it needs two servers with a login": 1,
    },
    "docs/guides/usage.md": {
        "its figures need a real GPU": 1,
        "its figures need a month of jobs": 1,
    },
    "docs/guides/sweeps.md": {
        "it shows only a part of a job file": 1,
    },
    "docs/guides/virtual-clusters.md": {
        "it guarantees more GPUs than the machine has": 1,
        "it names machines that are not there": 1,
    },
    "examples/README.md": {
        "it downloads PyTorch": 1,
    },
    "examples/jax-psum/README.md": {
        "it needs JAX; make test-frameworks runs it": 1,
    },
    "examples/paddle-collective/README.md": {
        "it needs PaddlePaddle; make test-frameworks runs it": 1,
    },
    "examples/paddle-ps/README.md": {
        "it needs PaddlePaddle; make test-frameworks runs it": 1,
    },
    "examples/paddlejob/README.md": {
        "it needs a cluster that runs containers": 1,
    },
    "examples/torch-ddp/README.md": {
        "it needs PyTorch; make test-frameworks runs it": 1,
    },
}
"""How many blocks are left out in each page, by reason. A whole page counts as one."""


def test_blocks_that_are_not_run_are_those_that_are_known() -> None:
    found = {str(page.relative_to(ROOT)): _reasons(page.read_text(encoding="utf-8")) for page in pages()}

    assert {page: reasons for page, reasons in found.items() if reasons} == NOT_RUN


def _reasons(text: str) -> dict[str, int]:
    return dict(Counter(step.reason for step in read_steps(text) if isinstance(step, NotRun)))
