"""Folders of a Kubernetes cluster in real pods: claims, ConfigMaps and folders of the nodes, read-only or not."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.kube import Kube, KubeNamespace, Object, new_namespace, phase
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.server import MusterServer

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-folders")]
TRIES_TO_WRITE = "touch here/written 2>/dev/null && echo written || echo refused"


@dataclass(frozen=True)
class Site:
    server: MusterServer
    volume: Path
    """The folder behind the claim."""
    folder: Path
    """The folder of the nodes."""

    def log_of(self, command: str, **mount: Any) -> str:
        """What a job prints that has the folder `here` in its working directory."""
        spec = {
            "name": f"mounts-{secrets.token_hex(3)}",
            "cluster": CLUSTER,
            "command": ["sh", "-c", command],
            "resources": {"cpu": "50m"},
            "mounts": [{"target": "here", **mount}],
        }
        job = self.server.wait(self.server.submit(spec)["id"], 120)
        assert job["state"] == "Succeeded", self.server.run("explain", job["id"]).stdout
        return self.server.run("logs", job["id"], check=True).stdout.replace("worker-0 | ", "")


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    base = tmp_path_factory.mktemp("folders")
    volume, folder = base / "volume", base / "folder"
    (volume / "day-1").mkdir(parents=True)
    folder.mkdir()
    namespace = new_namespace(kube, f"folders-{secrets.token_hex(3)}")
    volume_path = _make_claim(namespace, volume)
    namespace.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"lr": "0.1\n"}}
    )
    folders = {
        "shared": {"claim": "shared"},
        "kept": {"claim": "shared", "readOnly": True},
        "settings": {"configMap": "settings"},
        "scratch": str(folder),
        "home": {"nfs": {"server": "files.example", "path": "/home"}},
    }
    try:
        with server_over(namespace, base / "home", {"folders": folders, "imagePullPolicy": "Never"}) as server:
            yield Site(server, volume, folder)
    finally:
        namespace.remove()
        kube.request("DELETE", volume_path)


def _make_claim(namespace: KubeNamespace, folder: Path) -> str:
    """Makes a volume of this folder of the nodes and the claim `shared` on it. Returns the path of the volume."""
    common: Object = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace.name},
        "spec": {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": str(folder)}},
    }
    namespace.kube.request("POST", "/api/v1/persistentvolumes", volume)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {**common, "volumeName": namespace.name, "resources": {"requests": {"storage": "1Gi"}}},
    }
    namespace.create(claim)
    namespace.await_object("PersistentVolumeClaim", "shared", lambda found: phase(found) == "Bound")
    return f"/api/v1/persistentvolumes/{namespace.name}"


def test_what_one_job_writes_to_a_claim_another_reads(site: Site) -> None:
    site.log_of("echo from-the-first > here/words", source="shared")
    assert (site.volume / "words").read_text() == "from-the-first\n"
    assert "from-the-first\n" in site.log_of("cat here/words", source="shared", readOnly=True)


def test_a_folder_inside_a_claim_is_mounted_alone(site: Site) -> None:
    (site.volume / "day-1" / "part").write_text("one day\n")
    assert "part\none day\n" in site.log_of("ls here; cat here/part", source="shared/day-1", readOnly=True)


@pytest.mark.parametrize(
    ("source", "read_only", "word"),
    [
        ("shared", False, "written"),
        ("shared", True, "refused"),
        ("kept", False, "refused"),
        ("scratch", False, "written"),
        ("scratch", True, "refused"),
        ("settings", True, "refused"),
    ],
)
def test_read_only_is_respected(site: Site, source: str, read_only: bool, word: str) -> None:
    assert f"{word}\n" in site.log_of(TRIES_TO_WRITE, source=source, readOnly=read_only)


def test_a_config_map_is_a_folder_of_its_keys(site: Site) -> None:
    assert "0.1\n" in site.log_of("cat here/lr", source="settings", readOnly=True)


def test_an_nfs_folder_is_a_volume_of_the_pod(site: Site, tmp_path: Path) -> None:
    """There is no NFS server here, so that the pod itself is not started."""
    file = tmp_path / "job.yaml"
    mounts = [{"source": "home/amy", "target": "/home/amy", "readOnly": True}]
    file.write_text(yaml.safe_dump({"name": "shown", "cluster": CLUSTER, "command": "true", "mounts": mounts}))
    shown = site.server.run("submit", "--dry-run", str(file), check=True).stdout
    found = [entry for entry in yaml.safe_load_all(shown[shown.index("apiVersion") :]) if entry["kind"] == "Pod"]
    assert {"name": "folder-home", "nfs": {"server": "files.example", "path": "/home"}} in found[0]["spec"]["volumes"]
    places = found[0]["spec"]["containers"][0]["volumeMounts"]
    assert {"name": "folder-home", "mountPath": "/home/amy", "subPath": "amy", "readOnly": True} in places
