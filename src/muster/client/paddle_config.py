"""Reads `~/.paddle/config`, which names the servers (datacenters) of paddlecloud's users and how they log in.

Both forms of the file are read: `active: true` in one datacenter, and its later replacement `current-datacenter`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from muster.client.errors import BAD_INPUT, MusterError

_YES = ("true", "yes", "on", "y")
_NO = ("false", "no", "off", "n", "")


@dataclass(frozen=True, slots=True)
class Datacenter:
    """A server and a login. `name` is also the second part of paths such as `/pfs/NAME/home/USER`."""

    name: str
    endpoint: str
    username: str = ""
    password: str = field(default="", repr=False)


def config_file() -> Path:
    return Path.home() / ".paddle" / "config"


def read_active(path: Path) -> Datacenter:
    """Returns the datacenter that the file selects. Raises MusterError if the file cannot be read, or selects none."""
    return active(_loaded(path), path)


def active(document: Any, path: Path) -> Datacenter:
    if not isinstance(document, Mapping):
        raise _wrong(path, "it has no `datacenters`", _EXAMPLE)
    found = document.get("datacenters")
    if not isinstance(found, Sequence) or isinstance(found, str) or not found:
        raise _wrong(path, "`datacenters` is not a list of datacenters", _EXAMPLE)
    known = [_datacenter(item, place, path) for place, item in enumerate(found)]
    names = [one.name for one in known]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise _wrong(path, f"two datacenters have the name {repeated[0]!r}", "give each a name of its own")
    return known[_selected(document, found, names, path)]


_EXAMPLE = "it has a list `datacenters`, each with name, username, password and endpoint"


def _selected(document: Mapping[str, Any], found: Sequence[Any], names: Sequence[str], path: Path) -> int:
    marked = [place for place, item in enumerate(found) if str(item.get("active", "")).lower() in _YES]
    if len(marked) > 1:
        both = " and ".join(repr(names[place]) for place in marked)
        raise _wrong(path, f"{both} have `active: true`", "only one datacenter may be active")
    current = document.get("current-datacenter") or None
    if current is None:
        if marked:
            return marked[0]
        raise _wrong(
            path, "no datacenter is active", f"add `current-datacenter: NAME` with one of {', '.join(names)} to it"
        )
    if str(current) not in names:
        raise _wrong(path, f"`current-datacenter` is {str(current)!r}", f"the datacenters are {', '.join(names)}")
    chosen = names.index(str(current))
    if marked and marked[0] != chosen:
        raise _wrong(
            path,
            f"`current-datacenter` is {names[chosen]!r}, but {names[marked[0]]!r} has `active: true`",
            "remove one of them",
        )
    return chosen


def _datacenter(item: Any, place: int, path: Path) -> Datacenter:
    where = f"datacenters[{place}]"
    if not isinstance(item, Mapping):
        raise _wrong(path, f"{where} is not a mapping", _EXAMPLE)
    name = _text(item, "name", where, path)
    if not name:
        raise _wrong(path, f"{where} has no name", _EXAMPLE)
    if _text(item, "active", where, path).lower() not in (*_YES, *_NO):
        raise _wrong(path, f"{where}.active is neither true nor false")
    endpoint = _text(item, "endpoint", where, path).rstrip("/\\")
    _check_address(endpoint, where, path)
    return Datacenter(name, endpoint, _text(item, "username", where, path), _text(item, "password", where, path))


def _check_address(endpoint: str, where: str, path: Path) -> None:
    try:
        address = urlsplit(endpoint)
        is_address = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise _wrong(
            path, f"{where}.endpoint is not the URL of a server", "it looks like http://train.example.org:7070"
        )
    if address.username or address.password:
        raise _wrong(path, f"{where}.endpoint contains a login", "use the keys username and password")


def _text(item: Mapping[str, Any], key: str, where: str, path: Path) -> str:
    """The value itself is never in a message: it may be the password."""
    value = item.get(key, "")
    if not isinstance(value, str):
        raise _wrong(path, f"{where}.{key} is not a single text", "write it in quotes")
    return value


def _loaded(path: Path) -> Any:
    import yaml  # so that commands that read no such file do not load it

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _wrong(path, "it is not text in UTF-8") from error
    try:
        # The base loader makes nothing but texts of scalars: a password may be 0123 or no.
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.YAMLError as error:
        # The message of the library quotes the line, and a line of this file may be the password.
        mark = getattr(error, "problem_mark", None)
        raise _wrong(path, f"line {mark.line + 1} is not valid YAML" if mark else "it is not valid YAML") from None


def _wrong(path: Path, why: str, hint: str = "") -> MusterError:
    return MusterError(f"cannot use {path}: {why}", code=BAD_INPUT, hint=hint)
