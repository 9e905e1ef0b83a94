"""Finds the parts of a spec that a Kubernetes cluster does not support, and suggests alternatives."""

from collections.abc import Iterator

from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.needs import folder_name
from muster.domain.specs import JobSpec
from muster.launch.containers import is_reference
from muster.lib.nearest import nearest


def cannot_honour(
    spec: JobSpec, cluster: PhysicalCluster, options: KubernetesOptions, *, may_execute: bool = True
) -> Iterator[Problem]:
    """`may_execute` says whether the account may run commands in pods."""
    image = spec.runtime.image or options.image
    if not image:
        yield Problem("runtime.image", f"cluster {cluster.name} runs containers", "name an image, such as paddle:2.6.1")
    elif not is_reference(image):
        yield Problem("runtime.image", f"{image!r} is not the name of an image", "for example paddle:2.6.1")
    for place, mount in enumerate(spec.mounts):
        yield from _folder(f"mounts[{place}].source", mount.source, cluster, options)
        if any(part in (".", "..") for part in mount.target.split("/")):
            yield Problem(f"mounts[{place}].target", f"{mount.target!r} has . or .. in it", "write the path without it")
    for key, path in (("runtime.venv", spec.runtime.venv), ("runtime.conda", spec.runtime.conda)):
        if path and "/" in path and not (key == "runtime.venv" and spec.package and not path.startswith("/")):
            yield from _folder(key, path, cluster, options)
    if spec.outputs and not may_execute:
        lacks = f"the account of cluster {cluster.name} has no right to collect them: create on pods/exec"
        yield Problem("outputs", lacks, "write them to a folder of the cluster, or have an admin grant it")
    for role in spec.roles:
        if role.resources.shares_gpu:
            path = f"roles.{role.name}.resources.gpu"
            yield Problem(path, "Kubernetes hands out whole GPUs", "ask for 1, or use a cluster with agents")


def _folder(path: str, source: str, cluster: PhysicalCluster, options: KubernetesOptions) -> Iterator[Problem]:
    name = folder_name(source, cluster)
    if ".." in source.split("/"):
        yield Problem(path, f"{source!r} leads out of its folder by `..`", "write the path without it")
    elif name is None or name not in options.volumes:
        known = [folder.name for folder in cluster.folders]
        first = source.partition("/")[0] or source
        guess = nearest(first, known)
        listed = f"known folders: {', '.join(known)}" if known else "this cluster's file names no folders"
        yield Problem(
            path,
            f"cluster {cluster.name} has no folder {first!r}",
            f"did you mean {guess}? {listed}" if guess else listed,
        )
