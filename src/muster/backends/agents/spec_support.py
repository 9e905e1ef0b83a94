"""Finds the parts of a spec that a cluster of nodes with agents does not support, and suggests alternatives."""

from collections.abc import Iterator, Sequence

from muster.backends.agents.containers import NO_WORKDIR, Engines
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.needs import folder_name
from muster.domain.specs import IMAGE_WORKDIR, JobSpec, Mount
from muster.domain.unknown_folders import unknown_folder
from muster.launch.containers import APPTAINER, is_image
from muster.launch.mount_targets import refused_target

_DESCRIBE = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml describes the GPUs to podman"


def cannot_honour(
    spec: JobSpec, settings: PhysicalCluster, nodes: Sequence[str], engines: Engines
) -> Iterator[Problem]:
    if spec.runtime.image:
        yield from _image(spec, nodes, engines)
    yield from _workdir(spec, nodes, engines)
    if spec.runtime.conda:
        yield from _conda(spec.runtime.conda, settings)
    if spec.runtime.venv and not spec.package:  # in a package, any relative path may be one
        yield from _folder("runtime.venv", spec.runtime.venv, settings)
    if spec.package_place is not None:
        yield from _folder("package", spec.package_place.path, settings)
    for place, mount in enumerate(spec.mounts):
        yield from _mount(f"mounts[{place}]", mount, settings, is_contained=bool(spec.runtime.image))


def _image(spec: JobSpec, nodes: Sequence[str], engines: Engines) -> Iterator[Problem]:
    """Problems of the image. Those of container engines are reported only when every node has reported its engine."""
    if not is_image(spec.runtime.image or ""):
        yield Problem("runtime.image", f"{spec.runtime.image!r} is not an image name", "for example paddle:2.6.1")
    found = [engines.found(node) for node in nodes]
    if not found or any(one is None for one in found):
        return
    if not any(one and one.engine for one in found):
        broken = sorted({f"{name}: {why}" for one in found if one for name, why in one.problems.items()})
        message = "no node of this cluster has a container engine that works"
        hint = "have podman, docker or apptainer installed on the nodes, or use runtime.venv or runtime.conda"
        yield Problem("runtime.image", f"{message} ({'; '.join(broken)})" if broken else message, hint)
    elif any(role.resources.gpus for role in spec.roles) and not any(
        one and one.engine and one.engine.gpus for one in found
    ):
        lacking = sorted({f"{one.engine.name}: {one.lacking}" for one in found if one and one.engine and one.lacking})
        message = "no container engine of this cluster can hand out GPUs"
        yield Problem("runtime.image", f"{message} ({'; '.join(lacking)})" if lacking else message, _DESCRIBE)


def _workdir(spec: JobSpec, nodes: Sequence[str], engines: Engines) -> Iterator[Problem]:
    workdir = spec.runtime.workdir
    if workdir and workdir != IMAGE_WORKDIR and not spec.runtime.image:
        message = f"{workdir} is a folder of an image, and this job names none"
        yield Problem("runtime.workdir", message, "name a runtime.image, or leave it out and start in the package")
    if workdir == IMAGE_WORKDIR and spec.runtime.image:
        found = [one.engine.name for node in nodes if (one := engines.found(node)) and one.engine]
        if found and all(name == APPTAINER for name in found):
            yield Problem("runtime.workdir", *NO_WORKDIR)


def _conda(conda: str, settings: PhysicalCluster) -> Iterator[Problem]:
    if conda.startswith("/"):
        return
    if "/" in conda:
        yield from _folder("runtime.conda", conda, settings)
    elif settings.conda_root is None:
        yield Problem(
            "runtime.conda",
            f"cluster {settings.name} names no conda installation",
            "give the environment's folder, or have an admin write `conda` in the cluster's file",
        )


def _mount(path: str, mount: Mount, settings: PhysicalCluster, *, is_contained: bool) -> Iterator[Problem]:
    yield from _folder(f"{path}.{mount.source_key}", mount.source, settings)
    target = f"{path}.target"
    if mount.target.startswith("/"):
        if not is_contained:
            yield Problem(
                target,
                f"{mount.target} is absolute, and without a container nothing can be mounted there",
                "write a relative target, which becomes a link in the working directory, or choose a runtime.image",
            )
        elif problem := refused_target(target, mount.target):
            yield problem
    elif any(part in ("", ".", "..") for part in mount.target.split("/")):
        yield Problem(target, f"{mount.target!r} is not a path in the working directory", "for example data/train")
    if is_contained:
        for key, value in ((mount.source_key, mount.source), ("target", mount.target)):
            if "," in value or ":" in value:
                yield Problem(
                    f"{path}.{key}", "has a comma or a colon, which container engines do not take", "rename it"
                )


def _folder(path: str, value: str, settings: PhysicalCluster) -> Iterator[Problem]:
    if ".." in value.split("/"):
        yield Problem(path, f"{value!r} leads out of its folder by `..`", "write the path without it")
    elif not value.startswith("/") and folder_name(value, settings) is None:
        yield unknown_folder(path, value, settings)
