"""The values of a request, read and checked one by one. Whatever passes here is trusted afterwards."""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Tuple

from muster.agent.errors import BAD_REQUEST, AgentError

_TASK = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")


def task_id(request: Mapping[str, Any]) -> str:
    value = request.get("task")
    if not isinstance(value, str) or not _TASK.match(value) or value in (".", ".."):
        raise bad_request("task must be 1 to 128 letters, digits, '.', '_' or '-', not {!r}".format(value))
    return value


def task_ids(request: Mapping[str, Any]) -> List[str]:
    value = request.get("tasks")
    if not isinstance(value, list):
        raise bad_request("tasks must be a list of task ids")
    return [task_id({"task": item}) for item in value]


def text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or not value:
        raise bad_request("{} must be a text that is not empty".format(key))
    return value


def data(request: Mapping[str, Any], most: int) -> bytes:
    value = request.get("data")
    if not isinstance(value, bytes):
        raise bad_request("data must be bytes behind the request")
    if len(value) > most:
        raise bad_request("a piece may have at most {} bytes".format(most))
    return value


def whole_number(request: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = request.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise bad_request("{} must be a whole number from {} to {}, not {!r}".format(key, low, high, value))
    return value


def seconds(request: Mapping[str, Any], key: str) -> float:
    value = request.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 10_000_000:
        raise bad_request("{} must be a number of seconds, 0 or more, not {!r}".format(key, value))
    return float(value)


def argv(request: Mapping[str, Any]) -> Tuple[str, ...]:
    return argument_list(request.get("argv"))


def digest(request: Mapping[str, Any]) -> str:
    found = _DIGEST.match(text(request, "digest"))
    if found is None:
        raise bad_request("digest must be a sha256 in hexadecimal, not {!r}".format(request["digest"]))
    return found.group(1)


def relative_path(request: Mapping[str, Any], key: str) -> str:
    """A path that cannot lead out of the folder that it is relative to, as far as its own words go."""
    value = text(request, key)
    if value.startswith("/") or ".." in value.split("/") or not is_clean(value) or len(value) > 4096:
        raise bad_request("{} must be a relative path without '..', not {!r}".format(key, value[:200]))
    return value


def relative_paths(request: Mapping[str, Any], key: str) -> List[str]:
    value = request.get(key)
    if not isinstance(value, list) or len(value) > 1000:
        raise bad_request("{} must be a list of relative paths, at most 1000".format(key))
    return [relative_path({key: item}, key) for item in value]


def argument_list(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(is_clean(item) for item in value):
        raise bad_request("argv must be a list of texts, at least one")
    if not value[0] or value[0].startswith("-"):
        raise bad_request("argv must begin with a program, not {!r}".format(value[0]))
    return tuple(value)


def device_paths(request: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    """Paths of device files, all of them in /dev."""
    paths = request.get(key) or []
    if not isinstance(paths, list) or not all(map(_is_device_path, paths)):
        raise bad_request("{} must be a list of paths in /dev".format(key))
    return tuple(paths)


def _is_device_path(path: Any) -> bool:
    return is_clean(path) and path.startswith("/dev/") and not {"", ".", ".."} & set(path[1:].split("/"))


def is_clean(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def bad_request(message: str) -> AgentError:
    return AgentError(BAD_REQUEST, message)
