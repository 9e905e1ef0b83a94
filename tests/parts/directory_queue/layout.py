"""Where the parts of the directory queue lie, and how they are written: whole, or not at all."""

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
        for folder in (self.queue, self.gangs, self.cancels, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        return self

    @property
    def queue(self) -> Path:
        """Gangs that were handed over, in the order of their names."""
        return self.root / "queue"

    @property
    def gangs(self) -> Path:
        """What the engine says of each gang that it has taken up."""
        return self.root / "gangs"

    @property
    def cancels(self) -> Path:
        return self.root / "cancels"

    @property
    def work(self) -> Path:
        """One folder a task: its working directory and its log."""
        return self.root / "work"

    @property
    def nodes(self) -> Path:
        """Name → CPUs. Written by the test; the engine reads it again and again."""
        return self.root / "nodes.json"

    @property
    def others(self) -> Path:
        """Node → CPUs that somebody else uses there."""
        return self.root / "others.json"

    @property
    def down(self) -> Path:
        """While it exists, nobody can talk to the engine."""
        return self.root / "down"

    def log(self, task_id: str) -> Path:
        return self.work / task_id / "log"


def write(path: Path, value: Mapping[str, Any]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value))
    partial.rename(path)


def write_once(path: Path, value: Mapping[str, Any]) -> bool:
    """Whether it was new: of two who write the same name, one does."""
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
    """Empty when there is nothing."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    assert isinstance(found, dict)
    return found


def listed(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if not path.name.startswith("."))
