"""The contents of a launch request. They are checked here, at the edge, and trusted afterwards."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from muster.agent.isolation.orders import IsolationOrder, isolation_order
from muster.agent.requests import (
    argument_list,
    bad_request,
    device_paths,
    digest,
    is_clean,
    relative_path,
    task_id,
    text,
    whole_number,
)
from muster.agent.tasks import setup_order, task_scripts
from muster.agent.tasks.setup_order import SetupOrder
from muster.agent.tasks.task_folder import RESERVED_NAMES
from muster.agent.tasks.task_scripts import TaskScripts

LEAST_LOG_BYTES = 64 * 1024
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}\Z")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,159}\Z")


@dataclass(frozen=True)
class PackageRef:
    """A package by its digest. Without a path, it is what the server sent to this node before."""

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
    """The engine's program, the name of what has to be removed when the task is over, if it is to be, and the
    credentials with which the engine pulls the image, if there are any."""

    program: str
    name: str
    registry: Optional[bytes] = None


@dataclass(frozen=True)
class SecretsOrder:
    """The files of secrets by their path, and all values that are masked in the log."""

    files: Mapping[str, bytes]
    masked: Tuple[bytes, ...]


@dataclass(frozen=True)
class SshOrder:
    """The task has an SSH server. `hosts` are addresses and the names that they have for the task."""

    hosts: Tuple[Tuple[str, str], ...]


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
    log_bytes: Optional[int]
    max_tasks: Optional[int]
    devices: Tuple[int, ...]
    device_files: Tuple[str, ...]
    """The files of its devices other than GPUs."""
    other_device_files: Tuple[str, ...]
    """Those of the devices that this node has besides, which are not for the task."""
    links: Mapping[str, str]
    container: Optional[ContainerRef]
    isolation: Optional[IsolationOrder]
    scripts: Optional[TaskScripts]
    secrets: Optional[SecretsOrder] = None
    stdin: bool = False
    tty: bool = False
    setup: Optional[SetupOrder] = None
    ssh: Optional[SshOrder] = None
    root_files: Tuple[Tuple[str, Optional[str]], ...] = ()
    """What is at the root of its namespace: name and content, or None for an empty file that it may write."""

    @property
    def references(self) -> Tuple[Union[PackageRef, InputRef], ...]:
        """Everything that must be on this node before it can start."""
        return self.inputs if self.package is None else (self.package, *self.inputs)

    @property
    def digests(self) -> Tuple[str, ...]:
        return tuple(one.digest for one in self.references)


def launch_order(request: Mapping[str, Any]) -> LaunchOrder:
    files = _files(request.get("files"))
    return LaunchOrder(
        task=task_id(request),
        argv=argument_list(request.get("argv")),
        env=_env(request.get("env")),
        ports=_numbers(request, "ports", 1, 65535),
        port_owner=_optional_text(request, "port_owner"),
        files=files,
        package=_package(request.get("package")),
        inputs=_inputs(request.get("inputs")),
        cwd=_cwd(request),
        limits=_limits(request.get("limits")),
        log_bytes=_log_bytes(request),
        max_tasks=_max_tasks(request),
        devices=_numbers(request, "devices", 0, 4095),
        device_files=device_paths(request, "device_files"),
        other_device_files=device_paths(request, "other_device_files"),
        links=_links(request.get("links")),
        container=_container(request.get("container")),
        isolation=isolation_order(request.get("isolation")),
        scripts=task_scripts.requested(request.get("scripts")),
        secrets=secrets_order(request.get("secrets")),
        stdin=request.get("stdin") is True,
        tty=request.get("tty") is True,
        setup=setup_order.setup_order(request.get("setup")),
        ssh=_ssh(request.get("ssh")),
        root_files=_root_files(request.get("root_files"), files),
    )


def _env(value: Any) -> Mapping[str, str]:
    env = _texts(value, "env")
    for name in env:
        if not _ENV_NAME.match(name):
            raise bad_request("env contains {!r}, which is not a name a shell can pass on".format(name))
    return env


def _files(value: Any) -> Mapping[str, str]:
    files = _texts(value, "files")
    for name in files:
        if not name or "/" in name or name in (".", "..") or name.startswith(".muster") or len(name) > 255:
            raise bad_request("files contains {!r}, which is not a plain file name".format(name))
        if name in RESERVED_NAMES:
            raise bad_request(
                "files may not contain {!r}: the agent keeps its own records under that name".format(name)
            )
    return files


def _root_files(value: Any, files: Mapping[str, str]) -> Tuple[Tuple[str, Optional[str]], ...]:
    value = value or {}
    if not isinstance(value, dict):
        raise bad_request("root_files must be an object with read and written")
    read, written = value.get("read") or [], value.get("written") or []
    if not all(isinstance(names, list) for names in (read, written)):
        raise bad_request("root_files must have lists of names")
    if not set(read) <= files.keys():
        raise bad_request("root_files may contain only the names of files")
    empty = _files(dict.fromkeys(written, ""))
    return (*((name, files[name]) for name in read), *((name, None) for name in empty))


def _texts(value: Any, what: str) -> Dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request("{} must be an object of texts".format(what))
    for name, content in value.items():
        if not is_clean(name) or not isinstance(content, str) or (what == "env" and not is_clean(content)):
            raise bad_request("{} must be an object of texts; look at {!r}".format(what, name))
    return value


def _numbers(request: Mapping[str, Any], key: str, low: int, high: int) -> Tuple[int, ...]:
    value = request.get(key) or []
    if not isinstance(value, list):
        raise bad_request("{} must be a list of whole numbers".format(key))
    return tuple(whole_number({key: item}, key, low, high) for item in value)


def _optional_text(request: Mapping[str, Any], key: str) -> Optional[str]:
    return None if request.get(key) is None else text(request, key)


def _package(value: Any) -> Optional[PackageRef]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise bad_request("package must be null or an object with a digest and perhaps a path")
    return PackageRef(digest(value), _optional_text(value, "path"))


def _inputs(value: Any) -> Tuple[InputRef, ...]:
    items = value or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise bad_request("inputs must be a list of objects with digest and target")
    return tuple(_input(item) for item in items)


def _input(item: Mapping[str, Any]) -> InputRef:
    target = "/".join(part for part in relative_path(item, "target").split("/") if part not in ("", "."))
    if not target:
        raise bad_request("an input cannot be the whole working folder; give it a name in there")
    member = item.get("member") or ""
    if not isinstance(member, str) or "/" in member or member in (".", "..") or not is_clean(member):
        raise bad_request("member must be the name of one file, not {!r}".format(member))
    return InputRef(digest(item), _optional_text(item, "path"), target, member)


def _cwd(request: Mapping[str, Any]) -> Optional[str]:
    cwd = _optional_text(request, "cwd")
    if cwd is not None and (not os.path.isabs(cwd) or not is_clean(cwd)):
        raise bad_request("cwd must be null or an absolute path, not {!r}".format(cwd))
    return cwd


def _links(value: Any) -> Mapping[str, str]:
    links = _texts(value, "links")
    for target, source in links.items():
        if not target or any(part in ("", ".", "..") for part in target.split("/")):
            raise bad_request("links contains {!r}, which is not a name in the working folder".format(target))
        if not os.path.isabs(source) or not is_clean(source):
            raise bad_request("links lead to absolute paths, not to {!r}".format(source))
    return links


def _container(value: Any) -> Optional[ContainerRef]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise bad_request("container must be null or an object with program and name")
    program, name = text(value, "program"), str(value.get("name") or "")
    if not os.path.isabs(program) or not is_clean(program) or not _CONTAINER.match(name or "none"):
        raise bad_request("container must have an absolute program and a name of letters, digits, '.', '_' or '-'")
    registry = value.get("registry")
    return ContainerRef(program, name, None if registry is None else _decoded(registry))


def _max_tasks(request: Mapping[str, Any]) -> Optional[int]:
    return None if request.get("max_tasks") is None else whole_number(request, "max_tasks", 1, 1 << 20)


def _log_bytes(request: Mapping[str, Any]) -> Optional[int]:
    return None if request.get("log_bytes") is None else whole_number(request, "log_bytes", LEAST_LOG_BYTES, 1 << 60)


def secrets_order(value: Any) -> Optional[SecretsOrder]:
    """Problems never quote a value."""
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("masked"), list):
        raise bad_request("secrets must be null or an object with files and masked")
    files = _texts(value.get("files"), "secrets")
    return SecretsOrder(
        files={relative_path({"secrets": path}, "secrets"): _decoded(text) for path, text in files.items()},
        masked=tuple(_decoded(text) for text in value["masked"]),
    )


def _ssh(value: Any) -> Optional[SshOrder]:
    if value is None:
        return None
    hosts = value.get("hosts") if isinstance(value, dict) else None
    if not isinstance(hosts, list) or not all(_is_host(item) for item in hosts):
        raise bad_request("ssh must be null or an object with hosts: pairs of an address and a name")
    return SshOrder(tuple((str(address), str(name)) for address, name in hosts))


def _is_host(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(isinstance(one, str) and _HOST.match(one) for one in item)


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise bad_request("the value of a secret must be base64") from None


def _limits(value: Any) -> Limits:
    value = value or {}
    if not isinstance(value, dict):
        raise bad_request("limits must be an object")

    def optional(key: str) -> Optional[int]:
        return None if value.get(key) is None else whole_number(value, key, 1, 1 << 60)

    return Limits(optional("memory_bytes"), optional("cpu_shares"))
