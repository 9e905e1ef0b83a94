"""What a request may say. Requests are checked here, at the edge, and trusted afterwards."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.folders import RESERVED_NAMES

_TASK = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
# The supervisor is a POSIX shell, and shells drop variables whose names are not identifiers.
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,159}\Z")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")


@dataclass(frozen=True)
class PackageRef:
    """Without a path it is what the server sent to this node before."""

    digest: str
    path: Optional[str]


@dataclass(frozen=True)
class InputRef:
    """`target` is where in the working folder it is linked; `member` the one file of it, if it is but one."""

    digest: str
    path: Optional[str]
    target: str
    member: str


@dataclass(frozen=True)
class Limits:
    memory_bytes: Optional[int]
    cpu_shares: Optional[int]

    @property
    def any(self) -> bool:
        return self.memory_bytes is not None or self.cpu_shares is not None


@dataclass(frozen=True)
class ContainerRef:
    """The engine's program, and the name of what has to be removed when the task is over, if it is to be."""

    program: str
    name: str


@dataclass(frozen=True)
class LaunchOrder:
    task: str
    argv: Tuple[str, ...]
    env: Mapping[str, str]
    ports: Tuple[int, ...]
    port_owner: Optional[str]
    files: Mapping[str, str]
    package: Optional[PackageRef]
    inputs: Tuple[InputRef, ...]
    cwd: Optional[str]
    limits: Limits
    devices: Tuple[int, ...]
    links: Mapping[str, str]
    container: Optional[ContainerRef]

    @property
    def references(self) -> Tuple[Union[PackageRef, InputRef], ...]:
        """Everything that must be on this node before it can start."""
        return self.inputs if self.package is None else (self.package, *self.inputs)

    @property
    def digests(self) -> Tuple[str, ...]:
        return tuple(one.digest for one in self.references)


def launch_order(request: Mapping[str, Any]) -> LaunchOrder:
    return LaunchOrder(
        task=task_id(request),
        argv=_argv(request.get("argv")),
        env=_env(request.get("env")),
        ports=_numbers(request, "ports", 1, 65535),
        port_owner=_optional_text(request, "port_owner"),
        files=_files(request.get("files")),
        package=_package(request.get("package")),
        inputs=_inputs(request.get("inputs")),
        cwd=_cwd(request),
        limits=_limits(request.get("limits")),
        devices=_numbers(request, "devices", 0, 4095),
        links=_links(request.get("links")),
        container=_container(request.get("container")),
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


def data(request: Mapping[str, Any], most: int) -> bytes:
    value = request.get("data")
    if not isinstance(value, bytes):
        raise _bad("data must be bytes behind the request")
    if len(value) > most:
        raise _bad("a piece may have at most {} bytes".format(most))
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


def digest(request: Mapping[str, Any]) -> str:
    found = _DIGEST.match(text(request, "digest"))
    if found is None:
        raise _bad("digest must be a sha256 in hexadecimal, not {!r}".format(request["digest"]))
    return found.group(1)


def relative_path(request: Mapping[str, Any], key: str) -> str:
    """A path that cannot lead out of the folder that it is relative to, as far as its own words go."""
    value = text(request, key)
    if value.startswith("/") or ".." in value.split("/") or not _is_clean(value) or len(value) > 4096:
        raise _bad("{} must be a relative path without '..', not {!r}".format(key, value[:200]))
    return value


def relative_paths(request: Mapping[str, Any], key: str) -> List[str]:
    value = request.get(key)
    if not isinstance(value, list) or len(value) > 1000:
        raise _bad("{} must be a list of relative paths, at most 1000".format(key))
    return [relative_path({key: item}, key) for item in value]


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
        raise _bad("package must be null or an object with a digest and perhaps a path")
    return PackageRef(digest(value), _optional_text(value, "path"))


def _inputs(value: Any) -> Tuple[InputRef, ...]:
    items = value or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _bad("inputs must be a list of objects with digest and target")
    return tuple(_input(item) for item in items)


def _input(item: Mapping[str, Any]) -> InputRef:
    target = "/".join(part for part in relative_path(item, "target").split("/") if part not in ("", "."))
    if not target:
        raise _bad("an input cannot be the whole working folder; give it a name in there")
    member = item.get("member") or ""
    if not isinstance(member, str) or "/" in member or member in (".", "..") or not _is_clean(member):
        raise _bad("member must be the name of one file, not {!r}".format(member))
    return InputRef(digest(item), _optional_text(item, "path"), target, member)


def _cwd(request: Mapping[str, Any]) -> Optional[str]:
    cwd = _optional_text(request, "cwd")
    if cwd is not None and (not os.path.isabs(cwd) or not _is_clean(cwd)):
        raise _bad("cwd must be null or an absolute path, not {!r}".format(cwd))
    return cwd


def _links(value: Any) -> Mapping[str, str]:
    links = _texts(value, "links")
    for target, source in links.items():
        if not target or any(part in ("", ".", "..") for part in target.split("/")):
            raise _bad("links holds {!r}, which is not a name in the working folder".format(target))
        if not os.path.isabs(source) or not _is_clean(source):
            raise _bad("links lead to absolute paths, not to {!r}".format(source))
    return links


def _container(value: Any) -> Optional[ContainerRef]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _bad("container must be null or an object with program and name")
    program, name = text(value, "program"), str(value.get("name") or "")
    if not os.path.isabs(program) or not _is_clean(program) or not _CONTAINER.match(name or "none"):
        raise _bad("container must have an absolute program and a name of letters, digits, '.', '_' or '-'")
    return ContainerRef(program, name)


def _limits(value: Any) -> Limits:
    value = value or {}
    if not isinstance(value, dict):
        raise _bad("limits must be an object")

    def optional(key: str) -> Optional[int]:
        return None if value.get(key) is None else whole_number(value, key, 1, 1 << 60)

    return Limits(optional("memory_bytes"), optional("cpu_shares"))


def _bad(message: str) -> AgentError:
    return AgentError(BAD_REQUEST, message)
