"""Tiny jobs of every mode. Each task writes one line into a file of its own, so that a second run would show."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Spec = dict[str, Any]

_RECORD = 'echo "$MUSTER_TASK_UID $MUSTER_ATTEMPT $$" >> "$RECORDS/$MUSTER_TASK_UID"'


def small_job(number: int, records: Path, pace_s: float = 0.01) -> Spec:
    """Single, PS from 1+1 to 2+2 and Collective by turns; a few with a GPU. They work for up to nine paces."""
    work = f"{_RECORD}; sleep {number % 10 * pace_s:g}"
    serve = f"{_RECORD}; exec sleep 600"
    kinds: tuple[Mapping[str, Any], ...] = (
        {"command": work},
        {"framework": "paddle", "roles": {"ps": _role(serve, 1), "worker": _role(work, 1)}},
        {"command": work, "resources": {"cpu": "50m", "gpu": 1}},
        {"framework": "torch", "replicas": 2, "command": work},
        {"framework": "paddle", "roles": {"ps": _role(serve, 1), "worker": _role(work, 2)}},
        {"command": work},
        {"framework": "paddle", "roles": {"ps": _role(serve, 2), "worker": _role(work, 2)}},
        {"framework": "paddle", "replicas": 2, "command": work, "resources": {"cpu": "50m", "gpu": 1}},
        {"framework": "paddle", "roles": {"ps": _role(serve, 2), "worker": _role(work, 1)}},
    )
    spec: Spec = {"name": f"small-{number}", "env": {"RECORDS": str(records)}, "grace": "5s"}
    spec |= kinds[number % len(kinds)]
    if "roles" not in spec:
        spec.setdefault("resources", {"cpu": "50m"})
    return spec


def everything_at_once(records: Path) -> Spec:
    """Needs every GPU, many ports and nearly all CPUs: runs only when nothing was leaked."""
    role = _role(_RECORD, 4) | {"ports": 60, "resources": {"cpu": "400m", "gpu": 1}}
    return {"name": "everything-at-once", "env": {"RECORDS": str(records)}, "roles": {"worker": role}}


def lines_by_task(records: Path) -> Counter[str]:
    """How often each task ran, by its id. The id has the attempt in it."""
    return Counter({file.name: len(file.read_text().splitlines()) for file in records.iterdir()})


def _role(command: str, replicas: int) -> Spec:
    return {"command": command, "replicas": replicas, "resources": {"cpu": "50m"}}
