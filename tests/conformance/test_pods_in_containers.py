"""Job files of Kubernetes in real containers, where the image matters: its folder, its entry point, its own root."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.volcano.test_volcano_tasks import COMPLETE, job, task
from tests.parts.engines import EngineMissing, EnginePart, pack_image
from tests.parts.podman import private_podman, remove
from tests.parts.server import MusterServer, running_server

IMAGE = "localhost/muster-pods:1"
_APPLETS = ("sh", "cat", "echo", "env", "kill", "ls", "mkdir", "pwd", "sleep", "touch", "tr", "true")

KUBE_JOB = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {text: "it's from the file"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: in-container}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: localhost/muster-pods:1
          command: [sh, -c, 'echo "in $PWD"; touch /scratch/x && ls /scratch; cat /settings/text; echo; exit $CODE']
          env: [{name: CODE, value: "0"}]
          volumeMounts: [{name: scratch, mountPath: /scratch}, {name: settings, mountPath: /settings}]
      volumes: [{name: scratch, emptyDir: {}}, {name: settings, configMap: {name: settings}}]
"""
PADDLE_JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: entry-point}
spec:
  worker:
    replicas: 1
    template:
      spec:
        containers:
          - {name: main, image: "localhost/muster-pods:1", args: ["$(LR)", b], env: [{name: LR, value: "0.1"}]}
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[EnginePart]:
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        found = private_podman(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))
    pack_image(base / "pods.tar", _APPLETS)
    says = ("--change", 'ENTRYPOINT ["/bin/echo", "entry"]', "--change", "WORKDIR /tmp")
    made = found.call("import", "--quiet", *says, str(base / "pods.tar"), IMAGE)
    assert made.returncode == 0, made.stderr
    yield found
    remove(found, base)


@pytest.fixture(scope="module")
def server(podman: EnginePart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("muster"), podman.env) as running:
        yield running


def log_of(server: MusterServer, text: str, folder: Path, *words: str) -> str:
    file = folder / "job.yaml"
    file.write_text(text)
    done = server.run("submit", str(file), *words, "--wait", "-o", "json")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    log = server.run("logs", found["id"]).stdout
    assert found["state"] == "Succeeded", f"{found}\n{log}"
    return log


def test_container_starts_where_its_image_says_with_its_folders_and_files(server: MusterServer, tmp_path: Path) -> None:
    log = log_of(server, KUBE_JOB, tmp_path)

    assert "in /tmp\n" in log
    assert "x\n" in log
    assert "it's from the file\n" in log


def test_arguments_alone_are_added_to_the_entry_point_of_the_image(server: MusterServer, tmp_path: Path) -> None:
    assert "entry 0.1 b\n" in log_of(server, PADDLE_JOB, tmp_path)


def test_lists_of_hosts_are_where_volcano_has_them(server: MusterServer, tmp_path: Path) -> None:
    reads = ["sh", "-c", "cat /etc/volcano/worker.host; echo .; ls /etc/volcano"]
    worker = task("worker", 2, reads, policies=[COMPLETE])
    text = job(worker, plugins={"svc": []}).replace("repo/train:1", IMAGE)
    log = log_of(server, text, tmp_path, "--name", "volcano-in-container")

    assert log.count("worker.host\n") == 2
