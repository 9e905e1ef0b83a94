"""Says where in a container nothing may be mounted, because the container itself needs the place."""

import posixpath

from muster.domain.errors import Problem

_WHOLE = ("/proc", "/sys")
"""Places of the kernel: nothing can be mounted on them, nor below them."""
_THEMSELVES = ("/", "/dev")
_HINT = "choose another place, such as /data"


def refused_target(key: str, target: str) -> Problem | None:
    """The problem of an absolute target in a container of any engine; None if the engine can mount there."""
    place = plain_path(target)
    if place in _THEMSELVES or any(is_at_or_below(place, whole) for whole in _WHOLE):
        return Problem(key, f"{target} belongs to the container itself, and nothing can be mounted there", _HINT)
    return None


def plain_path(target: str) -> str:
    """The absolute path without `.`, `..` and repeated slashes."""
    return "/" + posixpath.normpath(target).lstrip("/")


def is_at_or_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
