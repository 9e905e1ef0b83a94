"""Reads the folder as it is. Values are checked where they are translated."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError

CONF = "conf.json"
TASKS = "task_info"
WAITING, RUNNING, ENDED = "wait_task.json", "exec_task.json", "hist_task.json"
_NODES = "gpu_slaver_info.json"
_PASSWORD = "psw"  # noqa: S105 - a file's name
_MOST_BYTES = 64 << 20

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MasterFolder:
    """`ended_by` is when the list of ended tasks was last written, in seconds since 1970."""

    path: Path
    conf: Record
    nodes: tuple[Record, ...]
    waiting: tuple[Record, ...]
    running: tuple[Record, ...]
    ended: tuple[Record, ...]
    ended_by: float

    @property
    def password_file(self) -> Path:
        return self.path / str(self.conf.get("psw_file") or _PASSWORD)

    @property
    def root(self) -> str:
        return str(self.conf.get("root") or "")


def is_master_folder(path: Path) -> bool:
    return path.is_dir() and ((path / CONF).is_file() or (path / TASKS).is_dir())


def read_folder(path: Path) -> MasterFolder:
    """Raises MusterError if a file is missing that must be there, or is not what it should be."""
    path = path.resolve()
    conf = _read(path / CONF)
    if not isinstance(conf, dict):
        raise _wrong(path / CONF, "it is not an object")
    nodes = path / str(conf.get("slaver_file") or _NODES)
    history = path / TASKS / ENDED
    return MasterFolder(
        path,
        conf,
        _records(nodes, "name", must_exist=True),
        _records(path / TASKS / WAITING, "task_id"),
        _records(path / TASKS / RUNNING, "task_id"),
        _records(history, "task_id"),
        history.stat().st_mtime if history.is_file() else 0.0,
    )


def _records(path: Path, key: str, *, must_exist: bool = False) -> tuple[Record, ...]:
    """A list of objects that are told apart by a key. A file of tasks that is not there has none."""
    if not must_exist and not path.exists():
        return ()
    found = _read(path)
    if not isinstance(found, list):
        raise _wrong(path, "it is not a list")
    for place, item in enumerate(found):
        if not isinstance(item, dict) or not isinstance(item.get(key), str) or not item[key]:
            raise _wrong(path, f"entry {place} is not an object with `{key}`")
    names = [item[key] for item in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise _wrong(path, f"`{key}` {repeated[0]!r} is there twice")
    return tuple(found)


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _wrong(path, f"it is larger than {_MOST_BYTES >> 20} MiB")
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _wrong(path, "it is not text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise _wrong(path, f"line {error.lineno} is not JSON: {error.msg[:1].lower()}{error.msg[1:]}") from error
    except RecursionError as error:
        raise _wrong(path, "it is nested too deeply") from error


def _wrong(path: Path, why: str) -> MusterError:
    return MusterError(f"cannot use {path}: {why}", code=BAD_INPUT)
