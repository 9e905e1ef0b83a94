"""Finds the parts of a spec that a Kubernetes cluster does not support, and suggests alternatives."""

from collections.abc import Iterator

from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.preparation import PLAN_FOLDER, SCRIPTS_FOLDER, WORK_FOLDER
from muster.backends.kubernetes.volumes import MEMORY_FOLDER, SECRETS_FOLDER, TASK_FOLDER, claim_of
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.needs import folder_name
from muster.domain.specs import IMAGE_WORKDIR, JobSpec
from muster.domain.unknown_folders import unknown_folder
from muster.launch.containers import is_reference
from muster.launch.mount_targets import is_at_or_below, plain_path, refused_target

_OWN_FOLDERS = (WORK_FOLDER, TASK_FOLDER, SECRETS_FOLDER, SCRIPTS_FOLDER, PLAN_FOLDER, MEMORY_FOLDER)


def cannot_honour(
    spec: JobSpec, cluster: PhysicalCluster, options: KubernetesOptions, *, may_execute: bool = True
) -> Iterator[Problem]:
    """`may_execute` says whether the account may run commands in pods."""
    image = spec.runtime.image or options.image
    if not image:
        yield Problem("runtime.image", f"cluster {cluster.name} runs containers", "name an image, such as paddle:2.6.1")
    elif not is_reference(image):
        yield Problem("runtime.image", f"{image!r} is not the name of an image", "for example paddle:2.6.1")
    workdir = spec.runtime.workdir
    if workdir and workdir != IMAGE_WORKDIR and any(is_at_or_below(plain_path(workdir), own) for own in _OWN_FOLDERS):
        message = f"{workdir} is a folder that every task on Kubernetes has from Muster"
        yield Problem("runtime.workdir", message, "leave it out to start in the package")
    if spec.package_place is not None:
        yield from _folder("package", spec.package_place.path, cluster, options)
    for place, mount in enumerate(spec.mounts):
        if not (cluster.other_storages and claim_of(mount)):
            yield from _folder(f"mounts[{place}].{mount.source_key}", mount.source, cluster, options)
        if any(part in (".", "..") for part in mount.target.split("/")):
            yield Problem(f"mounts[{place}].target", f"{mount.target!r} has . or .. in it", "write the path without it")
        elif problem := _target(f"mounts[{place}].target", mount.target):
            yield problem
    for key, path in (("runtime.venv", spec.runtime.venv), ("runtime.conda", spec.runtime.conda)):
        if path and "/" in path and not (key == "runtime.venv" and spec.package and not path.startswith("/")):
            yield from _folder(key, path, cluster, options)
    if spec.outputs and not may_execute:
        lacks = f"the account of cluster {cluster.name} has no right to collect them: create on pods/exec"
        yield Problem("outputs", lacks, "write them to a folder of the cluster, or have an admin grant it")
    for role in spec.roles:
        if role.stdin:
            yield Problem(
                f"roles.{role.name}.stdin", "is not possible on Kubernetes yet", "`muster shell` opens a shell"
            )
        if role.resources.shares_gpu:
            path = f"roles.{role.name}.resources.gpu"
            yield Problem(path, "Kubernetes hands out whole GPUs", "ask for 1, or use a cluster with agents")


def _target(key: str, target: str) -> Problem | None:
    """Targets in the working directory are free, except for that directory itself."""
    if not target.startswith("/"):
        return None
    place = plain_path(target)
    is_taken = any(is_at_or_below(place, own) or is_at_or_below(own, place) for own in _OWN_FOLDERS)
    if place == WORK_FOLDER or (is_taken and not is_at_or_below(place, WORK_FOLDER)):
        return refused_target(key, target) or Problem(
            key, f"{target} is a folder that every task on Kubernetes has from Muster", "choose another place"
        )
    return refused_target(key, target)


def _folder(path: str, source: str, cluster: PhysicalCluster, options: KubernetesOptions) -> Iterator[Problem]:
    name = folder_name(source, cluster)
    if ".." in source.split("/"):
        yield Problem(path, f"{source!r} leads out of its folder by `..`", "write the path without it")
    elif name is None or name not in options.volumes:
        yield unknown_folder(path, source, cluster)
