"""From the submission of a job to its pod in Kubernetes, beside `kubectl create` of the same pod."""

import json
import secrets
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.table import Row, Unit, at_most
from tests.parts.kube import Kube, KubeNamespace, new_namespace, pod
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.kube_session import remove_clusters, shared_cluster
from tests.parts.server import MusterServer

_MORE = ("Kubernetes: `muster submit` until the pod exists, more than `kubectl create`", at_most(50))
_COMMAND = ("sleep", "600")
_PATIENCE_S = 60.0


class PodWatch:
    """Notes when pods of a namespace come into being."""

    def __init__(self, namespace: KubeNamespace) -> None:
        self._seen: list[float] = []
        self._changed = threading.Condition()
        kubectl = namespace.kube.cluster.layout.program("kubectl")
        command = [kubectl, f"--kubeconfig={namespace.kube.cluster.kubeconfig}", f"--namespace={namespace.name}"]
        self._process = subprocess.Popen(
            [*command, "get", "pods", "--watch-only", "--output-watch-events", "--no-headers"],
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def took(self, act: Callable[[], object]) -> float:
        """The seconds from the beginning of the act until a pod was created."""
        with self._changed:
            before = len(self._seen)
        begun = time.monotonic()
        act()
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._seen) > before, _PATIENCE_S):
                raise AssertionError("no pod was created")
            return self._seen[before] - begun

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ADDED"):
                with self._changed:
                    self._seen.append(time.monotonic())
                    self._changed.notify_all()


def measure_submitting(rounds: int) -> list[Row]:
    """Both take turns, so that the machine is as busy for one as for the other."""
    with _site() as (server, namespace), tempfile.TemporaryDirectory() as folder:
        watch = PodWatch(namespace)
        kept: tuple[list[float], ...] = ([], [], [], [])
        try:
            for number in range(rounds + 1):
                figures = _once(server, namespace, watch, Path(folder) / f"{number}")
                if number:  # the first round warms everything up
                    for column, seconds in zip(kept, figures, strict=True):
                        column.append(seconds * 1e3)
        finally:
            watch.close()
    plain, command, direct, call = (statistics.median(column) for column in kept)
    return [
        Row("Kubernetes: `kubectl create` until the pod exists", Unit.MILLISECONDS, plain, note=f"{rounds} rounds"),
        Row("Kubernetes: `muster submit` until the pod exists", Unit.MILLISECONDS, command),
        Row("Kubernetes: API call that creates a pod, until it exists", Unit.MILLISECONDS, direct),
        Row("Kubernetes: API call of a submission until the pod exists", Unit.MILLISECONDS, call),
        Row(_MORE[0], Unit.MILLISECONDS, command - plain, bar=_MORE[1]),
    ]


def _once(server: MusterServer, namespace: KubeNamespace, watch: PodWatch, file: Path) -> tuple[float, ...]:
    name = f"plain-{secrets.token_hex(4)}"
    manifest, job = file.with_suffix(".json"), file.with_suffix(".yaml")
    manifest.write_text(json.dumps(pod(name, *_COMMAND)))
    spec = {"cluster": CLUSTER, "command": list(_COMMAND), "resources": {"cpu": "10m"}, "grace": "1s"}
    job.write_text(json.dumps({"name": f"job-{name}", **spec}))
    plain = watch.took(lambda: namespace.kubectl("create", f"--filename={manifest}"))
    command = watch.took(lambda: server.run("submit", str(job), check=True))
    direct = watch.took(lambda: namespace.create(pod(f"direct-{name}", *_COMMAND)))
    call = watch.took(lambda: server.submit({"name": f"call-{name}", **spec}))
    for one in (f"job-{name}", f"call-{name}"):
        server.run("kill", one, check=True)
    for one in (name, f"direct-{name}"):
        namespace.delete("Pod", one, grace_s=0)
    return plain, command, direct, call


@contextmanager
def _site() -> Iterator[tuple[MusterServer, KubeNamespace]]:
    kube = Kube(shared_cluster())
    namespace = new_namespace(kube, f"bench-{secrets.token_hex(4)}")
    try:
        with tempfile.TemporaryDirectory() as home, server_over(namespace, Path(home) / "home") as server:
            yield server, namespace
    finally:
        namespace.remove()
        kube.close()
        remove_clusters()


def _run(scale: Scale, figures: Figures) -> Sequence[Row]:
    return measure_submitting(scale.starts)


def _bars(figures: Figures) -> Sequence[Row]:
    return [Row(_MORE[0], Unit.MILLISECONDS, bar=_MORE[1])]


CASE = Case("kubernetes", "from a submission to its pod in Kubernetes, beside kubectl create", _run, _bars)
