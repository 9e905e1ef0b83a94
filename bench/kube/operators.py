"""The operators that can be measured: a command on this machine, or what a manifest installs on a real node."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import cpu_seconds, process_tree
from muster.operator.job.environment import PEERS
from scripts.kube.cluster import Cluster
from scripts.kube.processes import wait_until

_ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 300.0
_END_TIMEOUT_S = 60.0
_NO_PORTS = ("--metrics-bind-address=0", "--health-probe-bind-address=0")


@dataclass(frozen=True)
class Cost:
    """What the processes of an operator have used since their start."""

    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True)
class RunningOperator:
    pids: Callable[[], Sequence[int]]

    def cost(self) -> Cost:
        processes = process_tree(*self.pids())
        return Cost(cpu_seconds(processes), sum(_peak_bytes(process.pid) for process in processes))


@dataclass(frozen=True)
class LocalOperator:
    """A command that reads KUBECONFIG. It is told from this driver by its user."""

    command: Sequence[str]
    manifests: Sequence[Path]
    """What must be in the cluster before: the definition of the resource."""
    released_by: str | None = None
    """The annotation that ends a pod's init container; see bench.kube.stages."""
    node_names: Sequence[str] = ()

    @contextmanager
    def running(self, cluster: Cluster) -> Iterator[RunningOperator]:
        apply_manifests(cluster, self.manifests)
        kubeconfig = cluster.layout.kubeconfig_of("operator")
        command = [word.replace("{kubeconfig}", str(kubeconfig)) for word in self.command]
        with (cluster.layout.logs / "operator.log").open("wb") as log:
            process = subprocess.Popen(
                command, env={**cluster.env, "KUBECONFIG": str(kubeconfig)}, stdout=log, stderr=log
            )
        try:
            yield RunningOperator(lambda: [process.pid])
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass(frozen=True)
class InstalledOperator:
    """What manifests install: one Deployment in a namespace, on a real node, from images that are given as archives."""

    namespace: str
    manifests: Sequence[Path]
    images: Sequence[Path]
    released_by: str | None = None
    node_names: Sequence[str] = ("n1",)

    @contextmanager
    def running(self, cluster: Cluster) -> Iterator[RunningOperator]:
        for image in self.images:
            cluster.load_image(image, self.node_names)
        apply_manifests(cluster, self.manifests)
        cluster.kubectl(
            "wait",
            f"--namespace={self.namespace}",
            "--for=condition=Available",
            "deployment",
            "--all",
            f"--timeout={_START_TIMEOUT_S:.0f}s",
        )
        yield RunningOperator(lambda: _container_processes(cluster, self.namespace))


Operator = LocalOperator | InstalledOperator


def muster_operator() -> LocalOperator:
    """Muster's own, from this checkout."""
    program = Path(sys.executable).parent / "muster"
    command = [str(program), "operator", "--kubeconfig={kubeconfig}", *_NO_PORTS]
    return LocalOperator(command, [_ROOT / "deploy/v1/crd.yaml"], PEERS)


def apply_manifests(cluster: Cluster, manifests: Sequence[Path]) -> None:
    for manifest in manifests:
        cluster.kubectl("apply", "--server-side", f"--filename={manifest}")

    def established() -> bool:
        groups = cluster.kubectl("api-resources", "--api-group=batch.paddlepaddle.org", "--output=name")
        return "paddlejobs" in groups

    wait_until(established, _START_TIMEOUT_S, "the PaddleJob resource to be served")


def _container_processes(cluster: Cluster, namespace: str) -> list[int]:
    """The processes of all containers of a namespace, as this machine sees them."""
    pods = json.loads(cluster.kubectl("get", "pods", f"--namespace={namespace}", "--output=json"))
    containers = {
        status["containerID"].rpartition("/")[2]
        for pod in pods["items"]
        for status in pod["status"].get("containerStatuses", [])
        if "containerID" in status
    }
    members = [path for name in containers for path in Path("/sys/fs/cgroup").glob(f"**/{name}/cgroup.procs")]
    return sorted({int(pid) for path in members for pid in path.read_text().split()})


def _peak_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    found = next((line for line in lines if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(found.split()[1]) * 1024
