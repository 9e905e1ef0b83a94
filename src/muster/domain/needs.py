"""What a spec needs from a node besides hardware: usable folders, a conda installation, a container engine.

The needs are expressed as labels. The backend finds out which of them a node has; this module does not. It never
changes what the user wrote.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from muster.domain.clusters import CONDA, CONTAINER_GPUS, CONTAINERS, RESERVED, PhysicalCluster, folder_label
from muster.domain.specs import ANY_VALUE, JobSpec, Where

OK = "ok"


def needs_of(spec: JobSpec, cluster: PhysicalCluster) -> dict[str, str]:
    """The labels that a node must have, with their values, as in `where.labels`."""
    needs = {folder_label(name): OK for name in folders_used(spec, cluster)}
    runtime = spec.runtime
    if runtime.conda and "/" not in runtime.conda:
        needs[CONDA] = OK
    if runtime.image:
        needs[CONTAINERS] = ANY_VALUE
        if any(role.resources.gpus for role in spec.roles):
            needs[CONTAINER_GPUS] = OK
    return needs


def where_of(spec: JobSpec, cluster: PhysicalCluster) -> Where:
    """`spec.where`, extended by the needs of the spec."""
    needs = needs_of(spec, cluster)
    return replace(spec.where, labels={**spec.where.labels, **needs}) if needs else spec.where


def folders_used(spec: JobSpec, cluster: PhysicalCluster) -> list[str]:
    """The names of the cluster's folders that the spec uses."""
    return list(dict.fromkeys(name for _, path in folder_paths(spec) if (name := folder_name(path, cluster))))


def folder_name(path: str, cluster: PhysicalCluster) -> str | None:
    """The name of the folder with which the path starts, if there is one; for an absolute path, of the innermost folder
    that contains it, so that the rights of folders hold for it too."""
    if path.startswith("/"):
        around = [folder for folder in cluster.folders if folder.contains(path)]
        return max(around, key=lambda folder: len(folder.path)).name if around else None
    name = path.partition("/")[0]
    return name if name and cluster.folder(name) is not None else None


def without_needs(where: Where) -> Where:
    """Only what the user asked for. A folder that is unusable now may be usable again in a minute."""
    if not any(label.startswith(RESERVED) for label in where.labels):
        return where
    return replace(where, labels={key: value for key, value in where.labels.items() if not key.startswith(RESERVED)})


def unmet(labels: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """The reserved labels among these that a node does not have."""
    return [
        key
        for key, value in labels.items()
        if key.startswith(RESERVED) and (key not in found or value not in (ANY_VALUE, found[key]))
    ]


def in_words(label: str) -> str:
    """A reserved label in words that can follow "no ready node has"."""
    prefix = folder_label("")
    if label.startswith(prefix):
        return f"folder {label.removeprefix(prefix)} in order"
    words = {
        CONDA: "the cluster's conda in order",
        CONTAINERS: "a container engine that works",
        CONTAINER_GPUS: "a container engine that can hand out GPUs",
    }
    return words.get(label, label)


def alert_prefix(label: str) -> str:
    """The start of the alert that says why a node does not have the label."""
    folder = folder_label("")
    if label.startswith(folder):
        return f"folder {label.removeprefix(folder)} is "
    return "conda is " if label == CONDA else "containers: "


def folder_paths(spec: JobSpec) -> Iterator[tuple[str, str]]:
    """The paths that may start with a folder of the cluster, with their places in the spec."""
    for place, mount in enumerate(spec.mounts):
        yield f"mounts[{place}].{mount.source_key}", mount.source
    if spec.package_place is not None:
        yield "package", spec.package_place.path
    for key, path in (("runtime.venv", spec.runtime.venv), ("runtime.conda", spec.runtime.conda)):
        if path and "/" in path:
            yield key, path
    if spec.runtime.image and spec.runtime.image.endswith(".sif"):
        yield "runtime.image", spec.runtime.image
