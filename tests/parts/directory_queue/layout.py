"""The file layout of the directory queue. Files are written atomically."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Layout:
    root: Path

    def make(self) -> "Layout":
        for folder in (self.queue, self.gangs, self.cancels, self.forgotten, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        return self

    @property
    def queue(self) -> Path:
        """The folder of submitted gangs, in the order of their names."""
        return self.root / "queue"

    @property
    def gangs(self) -> Path:
        """The folder of the engine's status files, one for each gang that it has started."""
        return self.root / "gangs"

    @property
    def cancels(self) -> Path:
        return self.root / "cancels"

    @property
    def forgotten(self) -> Path:
        """One empty file for each task that nobody wants to know of any more: records belong to the engine."""
        return self.root / "forgotten"

    @property
    def work(self) -> Path:
        """The folder of tasks: each has a folder with its working directory and its log."""
        return self.root / "work"

    @property
    def nodes(self) -> Path:
        """The CPUs of each node, by name. The test writes the file, and the engine polls it."""
        return self.root / "nodes.json"

    @property
    def others(self) -> Path:
        """The CPUs that others use on each node."""
        return self.root / "others.json"

    @property
    def down(self) -> Path:
        """While this file exists, the engine cannot be reached."""
        return self.root / "down"

    def record(self, task_id: str) -> Path:
        """What the engine says of the gang of this task."""
        return self.gangs / f"{task_id.rsplit('.', 2)[0]}.json"

    def log(self, task_id: str) -> Path:
        return self.work / task_id / "log"


def write(path: Path, value: Mapping[str, Any]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value))
    partial.rename(path)


def write_once(path: Path, value: Mapping[str, Any]) -> bool:
    """Creates the file and returns whether it is new. If two processes write the same name, only one succeeds."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value))
    try:
        os.link(partial, path)
    except FileExistsError:
        return False
    finally:
        partial.unlink()
    return True


def read(path: Path) -> dict[str, Any]:
    """The content of the file; empty if it does not exist."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    assert isinstance(found, dict)
    return found


def has_started(record: Mapping[str, Any]) -> bool:
    """Whether the engine has taken the gang of this record from its queue."""
    return any(task["phase"] != "waiting" for task in record.get("tasks", {}).values())


def listed(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if not path.name.startswith("."))
