"""The volumes of a pod: the task's own folders, small files, shared memory, secrets and the folders of the cluster."""

import hashlib
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
_WORK_IN_TASK = f"{TASK_FOLDER}/work"
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - where every pod has its shared memory
CLAIM = "claim:"
"""Stands before the name of a PersistentVolumeClaim that jobs name as a storage."""
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
        if cluster.other_storages and (claim := claim_of(mount)):
            volume = {"persistentVolumeClaim": {"claimName": claim}}
            found.add(_claim_volume(claim), volume, *_places(mount, spec, read_only=mount.read_only))
            continue
        folder = cluster.folder(folder_name(mount.source, cluster) or "")
        if folder is None or folder.name not in options.volumes:
            continue  # it was refused at submission; the file has changed since
        name = f"folder-{folder.name.lower().replace('.', '-').replace('_', '-')}"
        places = _places(mount, spec, _inside(mount.source, folder), read_only=mount.read_only or folder.read_only)
        found.add(name, {**options.volumes[folder.name]}, *places)


def claim_of(mount: Mount) -> str:
    """The name of the claim that the mount means, if it means one that is not a folder of the cluster."""
    return mount.source.removeprefix(CLAIM) if mount.storage and mount.source.startswith(CLAIM) else ""


def add_work_in_task_folder(found: Volumes) -> None:
    """The working directory, at the place where tasks on agents have it. One that starts elsewhere finds it there."""
    found.add(WORK, {"emptyDir": {}}, {"mountPath": _WORK_IN_TASK})


def _places(mount: Mount, spec: JobSpec, inside: str = "", *, read_only: bool) -> Iterator[dict[str, Any]]:
    """Where the container has the mount: a relative target is in the working directory, wherever that is."""
    folders = (WORK_FOLDER, _WORK_IN_TASK) if spec.runtime.workdir else (WORK_FOLDER,)
    is_absolute = mount.target.startswith("/")
    for target in [mount.target] if is_absolute else [f"{folder}/{mount.target}" for folder in folders]:
        path = {"subPath": inside} if inside else {}
        yield {"mountPath": target, **path, **({"readOnly": True} if read_only else {})}


def _claim_volume(claim: str) -> str:
    """The names of claims may be longer than those of volumes, and have dots."""
    return f"claim-{hashlib.sha256(claim.encode()).hexdigest()[:16]}"


def _environments(spec: JobSpec) -> Iterator[Mount]:
    """The folders of a virtual or conda environment are mounted where they are known."""
    for path in (spec.runtime.venv, spec.runtime.conda):
        if path and path.startswith("/"):
            yield Mount(path, path, read_only=True)


def _inside(path: str, folder: Folder) -> str:
    relative = PurePosixPath(path).relative_to(folder.path)
    return "" if str(relative) == "." else str(relative)
