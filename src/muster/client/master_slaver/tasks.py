"""Makes the spec of a Muster job of one task of the old system, or says why that cannot be done."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from muster.client.master_slaver.folder import MasterFolder, Record
from muster.client.master_slaver.notes import Note

SOURCE = "master-slaver"
ANY_NODE = "<默认>"
NOTHING_BEFORE = ("(无)", "", None)
EXPORTED = {"PYTHONUNBUFFERED": "1", "NCCL_P2P_DISABLE": "1", "QT_QPA_PLATFORM": "offscreen"}
"""What the old system exported to every task."""
_HALF = 0.5
_ID = re.compile(r"[A-Za-z0-9._:-]{1,57}")
_KNOWN = frozenset(
    {"task_id", "envs", "path", "exec", "need_gpus", "slaver", "prev", "is_urgent", "is_reuse_gpu", "state"}
    | {"gpu_num", "gpu_type"}
)


class Untranslatable(Exception):
    """The task would not be the same as a Muster job. The text says why."""


@dataclass(frozen=True, slots=True)
class Translated:
    spec: dict[str, Any]
    notes: tuple[Note, ...]


def job_name(task_id: str) -> str:
    return f"task-{task_id}"


def translated(task: Record, folder: MasterFolder, cluster: str, where: str) -> Translated:
    """The spec without its predecessor. Raises Untranslatable."""
    task_id = str(task["task_id"])
    if not _ID.fullmatch(task_id):
        raise Untranslatable("its task_id is not made of letters and digits")
    notes: list[Note] = []

    def note(field: str, message: str) -> None:
        notes.append(Note(f"{where}: {task_id}: {field}", message))

    gpus = _number(task, "need_gpus")
    node = _node(task)
    spec: dict[str, Any] = {
        "name": job_name(task_id),
        "cluster": cluster,
        "labels": {"imported-from": SOURCE, "imported-id": task_id},
        "command": _command(task, folder.root),
        "env": dict(EXPORTED),
        "preemptible": False,  # the old system stopped no task for another
    }
    if _text(task, "envs"):
        spec["runtime"] = {"conda": _text(task, "envs")}
    if _flag(task, "is_urgent"):
        spec["priority"] = "urgent"
    if node:
        spec["where"] = {"nodes": [node]}
    if gpus:
        spec["resources"] = _gpu_resources(task, gpus, note)
    else:
        note("need_gpus", "a node ran one task without GPUs at a time; Muster counts its CPUs and memory instead")
    for key in task:
        if key not in _KNOWN:
            note(key, "has no effect: it is no field of a task")
    return Translated(spec, tuple(notes))


def _gpu_resources(task: Record, gpus: int, note: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {"gpu": gpus}
    if _flag(task, "is_reuse_gpu"):
        if gpus == 1:
            resources["gpu"] = _HALF
            note("is_reuse_gpu", f"the task gets a GPU by half ({_HALF}), so that two such tasks share one")
        else:
            note("is_reuse_gpu", "has no effect: only one GPU can be shared, so the task gets its GPUs for itself")
    models = task.get("gpu_type")
    if models:
        if not isinstance(models, list) or not all(isinstance(one, str) for one in models):
            raise Untranslatable("gpu_type is not a list of models")
        resources["gpuType"] = models
    return resources


def _command(task: Record, root: str) -> str:
    line = _text(task, "exec")
    if not line.strip():
        raise Untranslatable("exec is empty")
    path = PurePosixPath(_text(task, "path"))
    if ".." in path.parts:
        raise Untranslatable("path leads out of root")
    folder = PurePosixPath(root) / str(path).lstrip("/") if not path.is_relative_to(root) else path
    return f"cd {shlex.quote(str(folder))} || exit\n{line}"


def check_place(task: Record, nodes: Sequence[Mapping[str, Any]]) -> None:
    """Raises Untranslatable for a task that could never start: the old system left it waiting for ever."""
    named = _node(task)
    allowed = [node for node in nodes if not named or node["name"] == named]
    if not allowed:
        raise Untranslatable(f"it is to run on {named!r}, which is not in the list of nodes")
    most = max((count for node in allowed if isinstance(count := node.get("gpu_count"), int)), default=None)
    gpus = _number(task, "need_gpus")
    if most is not None and gpus > most:
        raise Untranslatable(f"it needs {gpus} GPUs on one node, and the largest has {most}: it would wait for ever")


def _node(task: Record) -> str:
    """The node that the task names; empty if it may run on any."""
    named = _text(task, "slaver")
    return "" if named == ANY_NODE else named


def _number(task: Record, key: str) -> int:
    try:
        number = int(str(task.get(key) or 0))
    except ValueError:
        number = -1
    if number < 0:
        raise Untranslatable(f"{key} is not a number")
    return number


def _flag(task: Record, key: str) -> bool:
    return str(task.get(key)).lower() in ("1", "true")


def _text(task: Record, key: str) -> str:
    value = task.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Untranslatable(f"{key} is not text")
    return value
