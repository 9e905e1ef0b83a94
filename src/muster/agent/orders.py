"""What a request may say. Requests are checked here, at the edge, and trusted afterwards."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.folders import RESERVED_NAMES

_TASK = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
# The supervisor is a POSIX shell, and shells drop variables whose names are not identifiers.
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")


@dataclass(frozen=True)
class PackageRef:
    digest: str
    path: str


@dataclass(frozen=True)
class Limits:
    memory_bytes: Optional[int]
    cpu_shares: Optional[int]

    @property
    def any(self) -> bool:
        return self.memory_bytes is not None or self.cpu_shares is not None


@dataclass(frozen=True)
class LaunchOrder:
    task: str
    argv: Tuple[str, ...]
    env: Mapping[str, str]
    ports: Tuple[int, ...]
    port_owner: Optional[str]
    files: Mapping[str, str]
    package: Optional[PackageRef]
    cwd: Optional[str]
    limits: Limits
    devices: Tuple[int, ...]


def launch_order(request: Mapping[str, Any]) -> LaunchOrder:
    return LaunchOrder(
        task=task_id(request),
        argv=_argv(request.get("argv")),
        env=_env(request.get("env")),
        ports=_numbers(request, "ports", 1, 65535),
        port_owner=_optional_text(request, "port_owner"),
        files=_files(request.get("files")),
        package=_package(request.get("package")),
        cwd=_cwd(request),
        limits=_limits(request.get("limits")),
        devices=_numbers(request, "devices", 0, 4095),
    )


def task_id(request: Mapping[str, Any]) -> str:
    value = request.get("task")
    if not isinstance(value, str) or not _TASK.match(value) or value in (".", ".."):
        raise _bad("task must be 1 to 128 letters, digits, '.', '_' or '-', not {!r}".format(value))
    return value


def task_ids(request: Mapping[str, Any]) -> List[str]:
    value = request.get("tasks")
    if not isinstance(value, list):
        raise _bad("tasks must be a list of task ids")
    return [task_id({"task": item}) for item in value]


def text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or not value:
        raise _bad("{} must be a text that is not empty".format(key))
    return value


def whole_number(request: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = request.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _bad("{} must be a whole number from {} to {}, not {!r}".format(key, low, high, value))
    return value


def seconds(request: Mapping[str, Any], key: str) -> float:
    value = request.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 10_000_000:
        raise _bad("{} must be a number of seconds, 0 or more, not {!r}".format(key, value))
    return float(value)


def argv(request: Mapping[str, Any]) -> Tuple[str, ...]:
    return _argv(request.get("argv"))


def _argv(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(_is_clean(item) for item in value):
        raise _bad("argv must be a list of texts, at least one")
    if not value[0] or value[0].startswith("-"):
        raise _bad("argv must begin with a program, not {!r}".format(value[0]))
    return tuple(value)


def _env(value: Any) -> Mapping[str, str]:
    env = _texts(value, "env")
    for name in env:
        if not _ENV_NAME.match(name):
            raise _bad("env holds {!r}, which is not a name a shell can pass on".format(name))
    return env


def _files(value: Any) -> Mapping[str, str]:
    files = _texts(value, "files")
    for name in files:
        if not name or "/" in name or name in (".", "..") or name.startswith(".muster") or len(name) > 255:
            raise _bad("files holds {!r}, which is not a plain file name".format(name))
        if name in RESERVED_NAMES:
            raise _bad("files may not hold {!r}: the agent keeps its own records under that name".format(name))
    return files


def _texts(value: Any, what: str) -> Dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad("{} must be an object of texts".format(what))
    for name, content in value.items():
        if not _is_clean(name) or not isinstance(content, str) or (what == "env" and not _is_clean(content)):
            raise _bad("{} must be an object of texts; look at {!r}".format(what, name))
    return value


def _is_clean(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _numbers(request: Mapping[str, Any], key: str, low: int, high: int) -> Tuple[int, ...]:
    value = request.get(key) or []
    if not isinstance(value, list):
        raise _bad("{} must be a list of whole numbers".format(key))
    return tuple(whole_number({key: item}, key, low, high) for item in value)


def _optional_text(request: Mapping[str, Any], key: str) -> Optional[str]:
    return None if request.get(key) is None else text(request, key)


def _package(value: Any) -> Optional[PackageRef]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _bad("package must be null or an object with digest and path")
    digest = _DIGEST.match(text(value, "digest"))
    if digest is None:
        raise _bad("package.digest must be a sha256 in hexadecimal, not {!r}".format(value["digest"]))
    return PackageRef(digest.group(1), text(value, "path"))


def _cwd(request: Mapping[str, Any]) -> Optional[str]:
    cwd = _optional_text(request, "cwd")
    if cwd is not None and (not os.path.isabs(cwd) or not _is_clean(cwd)):
        raise _bad("cwd must be null or an absolute path, not {!r}".format(cwd))
    return cwd


def _limits(value: Any) -> Limits:
    value = value or {}
    if not isinstance(value, dict):
        raise _bad("limits must be an object")

    def optional(key: str) -> Optional[int]:
        return None if value.get(key) is None else whole_number(value, key, 1, 1 << 60)

    return Limits(optional("memory_bytes"), optional("cpu_shares"))


def _bad(message: str) -> AgentError:
    return AgentError(BAD_REQUEST, message)
