"""Replaces names of cluster folders in a spec by absolute paths on the nodes, and derives mounts and links."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.domain.clusters import PhysicalCluster
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec, Mount, Runtime


@dataclass(frozen=True, slots=True)
class TaskMounts:
    """`binds` are mounted in the container. `links` are symbolic links in the working directory: name → target."""

    binds: tuple[Mount, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)


def with_absolute_paths(spec: JobSpec, cluster: PhysicalCluster) -> JobSpec:
    """The spec with an absolute path wherever it named a folder of the cluster."""
    mounts = tuple(_mount(mount, cluster) for mount in spec.mounts)
    return replace(spec, runtime=_runtime(spec.runtime, cluster), mounts=mounts)


def mounts_of(spec: JobSpec) -> TaskMounts:
    """A relative target becomes a link in the working directory, also with an image: an engine that mounted it there
    would leave a folder behind that may belong to another account."""
    links = {mount.target: mount.source for mount in spec.mounts if not mount.target.startswith("/")}
    if not spec.runtime.image:
        return TaskMounts(links=links)
    binds = (mount if mount.target.startswith("/") else replace(mount, target=mount.source) for mount in spec.mounts)
    return TaskMounts(tuple(dict.fromkeys(binds)), links)


def _runtime(runtime: Runtime, cluster: PhysicalCluster) -> Runtime:
    image = runtime.image
    return Runtime(
        conda=_path(runtime.conda, cluster) if runtime.conda and "/" in runtime.conda else runtime.conda,
        venv=_path(runtime.venv, cluster) if runtime.venv and "/" in runtime.venv else runtime.venv,
        image=_path(image, cluster) if image and image.endswith(".sif") else image,
    )


def _mount(mount: Mount, cluster: PhysicalCluster) -> Mount:
    folder = cluster.folder(folder_name(mount.source, cluster) or "")
    is_read_only = mount.read_only or (folder is not None and folder.read_only)
    return replace(mount, source=_path(mount.source, cluster), read_only=is_read_only)


def _path(path: str, cluster: PhysicalCluster) -> str:
    return cluster.path_of(path) or path
