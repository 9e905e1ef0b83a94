"""PaddleJobs for tests, with programs that need nothing but the image of the test cluster."""

import fcntl
from collections import Counter
from pathlib import Path
from typing import Any

from tests.parts.kube import Kube, KubeNamespace, Refused
from tests.parts.server import polls

DEPLOY = Path(__file__).parents[2] / "deploy"
Object = dict[str, Any]

REPORTS = (
    "import json, os, sys; "
    "open('/dev/termination-log', 'w').write(json.dumps({k: v for k, v in os.environ.items() if 'PADDLE' in k "
    "or k in ('POD_IP', 'TRAINING_ROLE', 'TRAINER_PORTS_NUM')})); "
)
"""A program that leaves the variables of its job where the API server shows them."""
SUCCEEDS = ("python3", "-c", REPORTS)
FAILS = ("python3", "-c", REPORTS + "sys.exit(1)")
_FIRST_SERVER = "host, port = os.environ['PADDLE_PSERVERS_IP_PORT_LIST'].split(',')[0].rsplit(':', 1)"
SERVES = (
    "python3",
    "-c",
    f"import os, socket, time; {_FIRST_SERVER}; s = socket.create_server(('', int(port))); time.sleep(1e5)",
)
"""The first parameter server: it accepts connections at its endpoint, and does not end."""
MEETS = f"""
import os, socket, sys, time
{_FIRST_SERVER}
while True:
    try:
        socket.create_connection((host, int(port)), 5)
        break
    except OSError:
        time.sleep(0.2)
"""
"""A worker's program that goes on when it has reached the first parameter server at its endpoint."""
WAITS = ("/bin/sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait")

UNTIL_RELEASED = ("/bin/sh", "-c", "until [ -e /tmp/released ]; do sleep 0.2; done")
"""A program that succeeds as soon as `release` is called for its pod."""


def release(namespace: KubeNamespace, *pods: str) -> None:
    for pod in pods:
        namespace.kubectl("exec", pod, "--container=paddle", "--", "touch", "/tmp/released")


_have_definition: set[Path] = set()
"""The folders of clusters in which this process has installed it."""


def paddle_job(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def paddle_role(replicas: int, command: tuple[str, ...], **pod: Any) -> Object:
    container = {"name": "paddle", "image": "local/python:1", "command": list(command)}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1, **pod}
    return {
        "replicas": replicas,
        "template": {"spec": {key: value for key, value in spec.items() if value is not None}},
    }


def install_definition(kube: Kube) -> None:
    """Install the definition of PaddleJob, or bring it up to date, and wait until jobs can be made. Once is enough for
    a cluster, and `kubectl apply` fails if two processes create the same object."""
    root = kube.cluster.layout.root
    if root in _have_definition:
        return
    with (root / "definition.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kube.kubectl("apply", "-f", str(DEPLOY / "v1" / "crd.yaml"))
    await_definition(kube)
    _have_definition.add(root)


def await_definition(kube: Kube) -> None:
    for _ in polls(120, every_s=0.2):
        try:
            kube.request("GET", "/apis/batch.paddlepaddle.org/v1/paddlejobs?limit=1")
        except Refused as error:
            if error.status != 404:
                raise
        else:
            return
    raise AssertionError("the API server does not serve PaddleJobs")


def await_workers(namespace: KubeNamespace, name: str, count: int, timeout_s: float = 180) -> None:
    """Wait until the job has so many workers, and all of them run."""
    wanted = f"{count}/{count}"
    namespace.await_object("PaddleJob", name, lambda one: _ready_workers(one) == wanted, timeout_s)


def _ready_workers(job: Object) -> str:
    return str(job.get("status", {}).get("worker", {}).get("ready", ""))


def placed_pods(namespace: KubeNamespace) -> Counter[str]:
    """How many pods of each name the scheduler ever placed: each has an event of its own."""
    placed = {
        (one["involvedObject"]["name"], one["involvedObject"]["uid"])
        for one in namespace.all("Event")
        if one["reason"] == "Scheduled"
    }
    return Counter(name for name, _ in placed)
