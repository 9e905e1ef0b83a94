"""Volumes of a PaddleJob's pods as the job's mounts. Only folders of the node can be mounted by name."""

from collections.abc import Sequence
from typing import Any

from muster.wire.dialects.pods import PodRole
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_INSTEAD = "--set 'mounts=[{source: DIR, target: DIR}]' names a folder instead, mounts=[] if the nodes have it there"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the place that pods mount, not a file of ours


def pod_mounts(into: Translator, roles: Sequence[PodRole]) -> None:
    """Mounts are the same for all roles in Muster: each target occurs once, with a warning if a role had not asked for
    it."""
    found: dict[str, dict[str, Any]] = {}
    askers: dict[str, list[tuple[str, Path]]] = {}
    for role in roles:
        for mount, source in _mounts(into, role):
            other = found.setdefault(mount["target"], mount)
            if other != mount:
                hint = "--set mounts=[...] says what is mounted in all roles"
                into.refuse(source, "another role mounts something else there", hint, settled_by=("mounts",))
            askers.setdefault(mount["target"], []).append((role.name, source))
    for place, (target, asked) in enumerate(askers.items()):
        into.trace(("mounts", place), asked[0][1])
        if len({name for name, _ in asked}) < len(roles):
            into.warn(asked[0][1], f"{target} is mounted in every role, not only in {asked[0][0]}")
    if found:
        first = next(iter(askers.values()))[0][1]
        into.put(("mounts",), list(found.values()), first, "--set mounts=[] keeps everything else")


def _mounts(into: Translator, role: PodRole) -> list[tuple[dict[str, Any], Path]]:
    volumes = {
        str(volume.get("name")): (volume, (*role.volumes_path, place))
        for place, volume in enumerate(into.listed(role.pod.get("volumes"), role.volumes_path))
        if isinstance(volume, dict)
    }
    mounts = []
    refused: set[str] = set()
    for place, given in enumerate(into.listed(role.container.get("volumeMounts"), (*role.at, "volumeMounts"))):
        source: Path = (*role.at, "volumeMounts", place)
        asked = into.mapping(given, source)
        name, target = str(asked.get("name")), str(asked.get("mountPath"))
        if name not in volumes:
            into.refuse(source, f"there is no volume {name!r}", settled_by=("mounts",))
            continue
        volume, at = volumes[name]
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if kind == "hostPath":
            mounts.append((_mount(volume[kind], asked, target), source))
        elif kind == "emptyDir" and target == _SHARED_MEMORY:
            into.warn(at, f"has no effect: every task has {_SHARED_MEMORY} anyway")
        elif name not in refused:
            refused.add(name)
            into.refuse(at, f"Muster cannot mount this: {_shown(kind, volume)}", _INSTEAD, settled_by=("mounts",))
    return mounts


def _mount(host_path: Any, asked: dict[str, Any], target: str) -> dict[str, Any]:
    source = str(host_path.get("path")) if isinstance(host_path, dict) else str(host_path)
    if asked.get("subPath"):
        source = f"{source.rstrip('/')}/{asked['subPath']}"
    return {"source": source, "target": target, "readOnly": bool(asked.get("readOnly"))}


def _shown(kind: str, volume: dict[str, Any]) -> str:
    details = volume.get(kind)
    name = details.get("claimName") or details.get("name") or details.get("server") if isinstance(details, dict) else ""
    return f"{kind} ({name})" if name else kind
