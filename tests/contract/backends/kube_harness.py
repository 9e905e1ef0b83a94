"""A real Kubernetes cluster: the tasks are pods, and the engine is its scheduler."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from muster.backends.kubernetes.backend import KubernetesBackend
from muster.backends.kubernetes.names import SERVER, own_labels
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Backend
from scripts.kube.cluster import Cluster
from tests.contract.backends.harness import FolderArchives
from tests.parts.cuttable_link import CuttableLink
from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_programs import PodPrograms

_IMAGE = "local/python:1"


@dataclass(frozen=True)
class KubeSite:
    """What all tests of one process share: a namespace, and a label by which nodes are open to it."""

    namespace: KubeNamespace
    label: str

    @property
    def host(self) -> str:
        """The address of this machine as pods reach it."""
        return urlsplit(_server(self.namespace.kube.cluster)).hostname or ""

    def open_nodes(self, value: str | None) -> None:
        for node in self.namespace.kube.nodes():
            path = f"/api/v1/nodes/{node['metadata']['name']}"
            change = {"metadata": {"labels": {self.label: value}}}
            self.namespace.kube.request("PATCH", path, change, "application/merge-patch+json")


@contextmanager
def kube_site(cluster: Cluster) -> Iterator[KubeSite]:
    kube = Kube(cluster)
    name = f"contract-{secrets.token_hex(4)}"
    site = KubeSite(new_namespace(kube, name), f"test/{name}")
    site.open_nodes("open")
    yield site
    site.open_nodes(None)
    site.namespace.remove()
    kube.close()


@dataclass(frozen=True, slots=True)
class ServedArchives(FolderArchives):
    """The same folder, which pods reach over HTTP."""

    address: str = ""

    def url(self, digest: str, lifetime_s: float) -> str:
        return f"{self.address}/{digest}.tar.gz"


class KubeHarness:
    node = ""
    folder = ""

    def __init__(self, folder: Path, site: KubeSite) -> None:
        self._site, self._folder = site, folder
        folder.mkdir(exist_ok=True)
        self._identity = secrets.token_hex(8)
        self._server = ThreadingHTTPServer((site.host, 0), partial(_Quiet, directory=str(folder)))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.archives = ServedArchives(folder, f"http://{site.host}:{self._server.server_port}")
        self.tasks = PodPrograms(site.host)
        server = urlsplit(_server(site.namespace.kube.cluster))
        self._link = CuttableLink(server.hostname or "", server.port or 443)
        self.outage = KubeOutage(self._link)
        self.queue = Crowd(site)

    def backend(self) -> Backend:
        options = KubernetesOptions(
            kubeconfig=self._kubeconfig(),
            namespace=self._site.namespace.name,
            image=_IMAGE,
            node_selector={self._site.label: "open"},
        )
        settings = PhysicalCluster("k8s", "kubernetes", options=options)
        home = self._folder / "home"
        return KubernetesBackend(
            settings, archives=self.archives, identity=self._identity, home=home, usage_every_s=0.5
        )

    def refused(self, launch: GangLaunch) -> GangLaunch:
        requests = (replace(one, env={"no=name": "1"}) for one in launch.requests)
        return replace(launch, requests=tuple(requests))

    def measure(self) -> None:
        """The kubelets do so by themselves."""

    def close(self) -> None:
        self._link.cut()
        self.queue.free()
        self._server.shutdown()
        self._server.server_close()
        self.tasks.close()
        selector = f"muster/server={_server_label(self._identity)}"
        path = f"/api/v1/namespaces/{self._site.namespace.name}"
        self._site.namespace.kube.request("DELETE", f"{path}/pods?gracePeriodSeconds=0&labelSelector={selector}")
        self._site.namespace.kube.request("DELETE", f"{path}/configmaps?labelSelector={selector}")

    def _kubeconfig(self) -> Path:
        """The cluster's own, by way of the link that can be cut."""
        path = self._folder / "kubeconfig"
        config = json.loads(self._site.namespace.kube.cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._link.port}"
        path.write_text(json.dumps(config))
        return path


class KubeOutage:
    """Implements `harness.Outage`."""

    def __init__(self, link: CuttableLink) -> None:
        self._link = link

    def begin(self, backend: Backend) -> None:
        self._link.cut()

    def end(self, backend: Backend) -> None:
        self._link.mend()


class Crowd:
    """Implements `harness.QueueControl`: no node is open to the tests of this process."""

    def __init__(self, site: KubeSite) -> None:
        self._site = site
        self._is_full = False

    def fill(self) -> None:
        self._site.open_nodes("closed")
        self._is_full = True

    def free(self) -> None:
        if self._is_full:
            self._site.open_nodes("open")
        self._is_full = False


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


def _server(cluster: Cluster) -> str:
    return str(json.loads(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])


def _server_label(identity: str) -> str:
    return own_labels(identity, "")[SERVER]
