"""Replaces names of cluster folders in a spec by absolute paths on the nodes, and derives mounts and links."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.domain.clusters import PhysicalCluster
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec, Mount, PackagePlace, Runtime


@dataclass(frozen=True, slots=True)
class TaskMounts:
    """`binds` are mounted in the container. `links` are symbolic links in the working directory: name → target."""

    binds: tuple[Mount, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)


def with_absolute_paths(spec: JobSpec, cluster: PhysicalCluster) -> JobSpec:
    """The spec with an absolute path wherever it named a folder of the cluster."""
    mounts = tuple(_mount(mount, cluster) for mount in spec.mounts)
    found = replace(spec, runtime=_runtime(spec.runtime, cluster), mounts=mounts)
    return found if spec.package_place is None else _with_package(found, spec.package_place, cluster)


def mounts_of(spec: JobSpec) -> TaskMounts:
    """A relative target becomes a link in the working directory, also with an image: an engine that mounted it there
    would leave a folder behind that may belong to another account. Without an image of the job, only the folder of its
    package is mounted: the cluster may have an image for all jobs."""
    links = {mount.target: mount.source for mount in spec.mounts if not mount.target.startswith("/")}
    if not spec.runtime.image:
        return TaskMounts(tuple(mount for mount in spec.mounts if mount.target.startswith("/")), links)
    binds = (mount if mount.target.startswith("/") else replace(mount, target=mount.source) for mount in spec.mounts)
    return TaskMounts(tuple(dict.fromkeys(binds)), links)


def _with_package(spec: JobSpec, place: PackagePlace, cluster: PhysicalCluster) -> JobSpec:
    """The folder in which the package lies is mounted as a whole, where it is on the nodes: in a container or a
    namespace, links in it lead nowhere else."""
    found = replace(spec, package_place=replace(place, path=_path(place.path, cluster)))
    folder = cluster.folder(folder_name(place.path, cluster) or "")
    if folder is None or any(mount.target.rstrip("/") == folder.path.rstrip("/") for mount in spec.mounts):
        return found
    return replace(found, mounts=(*spec.mounts, Mount(folder.path, folder.path, folder.read_only)))


def _runtime(runtime: Runtime, cluster: PhysicalCluster) -> Runtime:
    image = runtime.image
    return replace(
        runtime,
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
