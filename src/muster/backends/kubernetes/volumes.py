"""The volumes of a pod: the task's own folders, small files, shared memory, secrets and the folders of the cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.preparation import WORK_FOLDER
from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec, Mount

TASK_FOLDER, SECRETS_FOLDER = "/muster/task", "/muster/secrets"
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - where every pod has its shared memory
FILES, WORK, TASK, MEMORY, SECRETS = "files", "work", "task", "shared-memory", "secrets"


@dataclass(slots=True)
class Volumes:
    """The volumes of a pod, and where its container has them."""

    volumes: list[dict[str, Any]] = field(default_factory=list)
    mounts: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, source: Mapping[str, Any], *places: Mapping[str, Any]) -> None:
        if all(one["name"] != name for one in self.volumes):
            self.volumes.append({"name": name, **source})
        self.mounts += [{"name": name, **place} for place in places]


def add_own_folders(found: Volumes, memory_bytes: int | None) -> None:
    """The working directory, the task's folder, and as much shared memory as the task may use."""
    found.add(WORK, {"emptyDir": {}}, {"mountPath": WORK_FOLDER})
    found.add(TASK, {"emptyDir": {}}, {"mountPath": TASK_FOLDER})
    limit = {"sizeLimit": str(memory_bytes)} if memory_bytes else {}
    found.add(MEMORY, {"emptyDir": {"medium": "Memory", **limit}}, {"mountPath": MEMORY_FOLDER})


def add_cluster_folders(found: Volumes, spec: JobSpec, cluster: PhysicalCluster, options: KubernetesOptions) -> None:
    for mount in (*spec.mounts, *_environments(spec)):
        folder = cluster.folder(folder_name(mount.source, cluster) or "")
        if folder is None or folder.name not in options.volumes:
            continue  # it was refused at submission; the file has changed since
        target = mount.target if mount.target.startswith("/") else f"{WORK_FOLDER}/{mount.target}"
        place: dict[str, Any] = {"mountPath": target}
        if inside := _inside(mount.source, folder):
            place["subPath"] = inside
        if mount.read_only or folder.read_only:
            place["readOnly"] = True
        volume = {**options.volumes[folder.name]}
        found.add(f"folder-{folder.name.lower().replace('.', '-').replace('_', '-')}", volume, place)


def _environments(spec: JobSpec) -> Iterator[Mount]:
    """The folders of a virtual or conda environment are mounted where they are known."""
    for path in (spec.runtime.venv, spec.runtime.conda):
        if path and path.startswith("/"):
            yield Mount(path, path, read_only=True)


def _inside(path: str, folder: Folder) -> str:
    relative = PurePosixPath(path).relative_to(folder.path)
    return "" if str(relative) == "." else str(relative)
