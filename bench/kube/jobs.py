"""The PaddleJobs that are measured: in the form of the seed's examples, on fake nodes."""

from dataclasses import dataclass
from typing import Any

from bench.kube.stages import FINISHES
from scripts.kube.fake_nodes import FAKE, toleration

Object = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How many pods of each role a job has. All workers finish; parameter servers run until they are removed."""

    workers: int
    servers: int = 0

    def job(self, name: str) -> Object:
        roles = {"worker": _role(self.workers, FINISHES)}
        if self.servers:
            roles["ps"] = _role(self.servers, "serves")
        return {
            "apiVersion": "batch.paddlepaddle.org/v1",
            "kind": "PaddleJob",
            "metadata": {"name": name},
            "spec": {"intranet": "PodIP", "cleanPodPolicy": "Never", **roles},
        }


PARAMETER_SERVERS = Shape(workers=2, servers=2)
COLLECTIVE = Shape(workers=2)


def _role(replicas: int, argument: str) -> Object:
    container = {"name": "paddle", "image": "local/python:1", "command": ["python3"], "args": [argument]}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": FAKE,
        "tolerations": [toleration()],
        "containers": [container],
    }
    return {"replicas": replicas, "template": {"spec": pod}}
