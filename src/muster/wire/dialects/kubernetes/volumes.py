"""Volumes of a job's pods as the job's mounts: folders of the nodes, and storages of the cluster by their names."""

from collections.abc import Sequence
from typing import Any

from muster.wire.dialects.kubernetes.config_maps import content_of
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.kubernetes.task_scripts import container_file, container_folder
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_INSTEAD = "--set 'mounts=[{source: DIR, target: DIR}]' names a folder instead, mounts=[] if the nodes have it there"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the place that pods mount, not a file of ours

Mounts = list[tuple[dict[str, Any], Path]]


def pod_mounts(into: Translator, roles: Sequence[PodRole], more: Sequence[tuple[dict[str, Any], Path]] = ()) -> None:
    """Mounts are the same for all roles in Muster: each target occurs once, with a warning if a role had not asked for
    it. `more` are mounts of all roles."""
    found: dict[str, dict[str, Any]] = {mount["target"]: mount for mount, _ in more}
    askers: dict[str, list[tuple[str, Path]]] = {
        mount["target"]: [(role.name, source) for role in roles] or [("", source)] for mount, source in more
    }
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


def _mounts(into: Translator, role: PodRole) -> Mounts:
    volumes = {
        str(volume.get("name")): (volume, (*role.volumes_path, place))
        for place, volume in enumerate(into.listed(role.pod.get("volumes"), role.volumes_path))
        if isinstance(volume, dict)
    }
    mounts: Mounts = []
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
        details = into.mapping(volume.get(kind), (*at, kind)) if kind != "hostPath" else {}
        if kind == "hostPath" and not asked.get("subPathExpr"):
            mounts.append((_host_path(volume[kind], asked, target), source))
        elif kind == "persistentVolumeClaim" and details.get("claimName") and not _is_part(asked):
            mounts.append((_storage(details, asked, target), source))
        elif kind == "emptyDir" and target.rstrip("/") == _SHARED_MEMORY:
            into.warn(at, f"has no effect: every task has {_SHARED_MEMORY} anyway")
        elif kind == "emptyDir" and role.image and role.has_command and not _is_part(asked):
            role.starts.append(container_folder(target))
        elif kind == "configMap" and content_of(details) is not None and role.image and role.has_command:
            role.starts += _files(into, details, asked, target, at)
        elif name not in refused:
            refused.add(name)
            into.refuse(at, f"Muster cannot mount this: {_shown(kind, asked, details)}", _INSTEAD, ("mounts",))
    return mounts


def _files(into: Translator, details: dict[str, Any], asked: dict[str, Any], target: str, at: Path) -> list[str]:
    """Lines that write the files of a ConfigMap into the container: all of them, those of `items`, or one."""
    content, items = content_of(details) or {}, into.listed(details.get("items"), (*at, "configMap", "items"))
    chosen = [item for item in items if isinstance(item, dict)]
    paths = {str(item.get("path")): str(item.get("key")) for item in chosen} if items else {key: key for key in content}
    if asked.get("subPath"):
        paths = {"": paths.get(str(asked["subPath"]), str(asked["subPath"]))}
    missing = [key for key in paths.values() if key not in content]
    if missing:
        into.refuse(at, f"its ConfigMap has no key {missing[0]!r}", _INSTEAD, settled_by=("mounts",))
        return []
    return [container_file(f"{target.rstrip('/')}/{path}".rstrip("/"), content[key]) for path, key in paths.items()]


def _is_part(asked: dict[str, Any]) -> bool:
    return bool(asked.get("subPath") or asked.get("subPathExpr"))


def _host_path(host_path: Any, asked: dict[str, Any], target: str) -> dict[str, Any]:
    source = str(host_path.get("path")) if isinstance(host_path, dict) else str(host_path)
    if asked.get("subPath"):
        source = f"{source.rstrip('/')}/{asked['subPath']}"
    return {"source": source, "target": target, "readOnly": bool(asked.get("readOnly"))}


def _storage(claim: dict[str, Any], asked: dict[str, Any], target: str) -> dict[str, Any]:
    read_only = bool(asked.get("readOnly") or claim.get("readOnly"))
    return {"storage": str(claim["claimName"]), "target": target, "readOnly": read_only}


def _shown(kind: str, asked: dict[str, Any], details: dict[str, Any]) -> str:
    name = details.get("claimName") or details.get("name") or details.get("secretName") or details.get("server")
    shown = f"{kind} ({name})" if name else kind
    return f"{shown} with a subPath" if _is_part(asked) else shown
