"""The `inputs` of a job as they are written, and what is sent of them: each packed and uploaded like a package.

What cannot be understood here is left as it is; the server says what is wrong with it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.transport import Transport
from muster.client.uploading import Progress, upload

_ON_A_CLUSTER = re.compile(r"/[^/:]+:(?=[^/])(.+)")
_SENT = re.compile(r"[0-9a-f]{64}(/[^/]+)?")


@dataclass(frozen=True, slots=True)
class GivenInput:
    """`path` is what is still to be sent; `source` names what the server has already."""

    target: str
    path: Path | None = None
    source: str = ""


def read_inputs(value: Any, folder: Path) -> tuple[GivenInput, ...] | None:
    """`folder` is what relative paths are relative to. None for what is not written as inputs are."""
    items = [value] if isinstance(value, str | dict) else value
    if not isinstance(items, list):
        return None
    found = [_read(item, folder) for item in items]
    return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def send_inputs(
    transport: Transport,
    inputs: Sequence[GivenInput],
    progress: Progress | None = None,
    announce: Callable[[Path], None] | None = None,
) -> list[dict[str, str]]:
    """As the server wants them named. Content that it has already costs one small request."""
    return [{"source": _sent(transport, one, progress, announce), "target": one.target} for one in inputs]


def check_inputs(inputs: Sequence[GivenInput]) -> None:
    """Whether all are there to be sent."""
    for one in inputs:
        if one.path is not None and not one.path.exists():
            raise MusterError(f"the input {one.path} is not there", code=BAD_INPUT, hint=_where_to_look(one))


def _where_to_look(one: GivenInput) -> str:
    on_a_cluster = _ON_A_CLUSTER.search(str(one.path))
    if on_a_cluster is None:
        return "paths are relative to the job file"
    mount = f"{{source: {on_a_cluster[1]}, target: {one.target}}}"
    return f"paths are relative to the job file; what lies on a cluster is not sent: `mounts: [{mount}]`"


def _read(item: Any, folder: Path) -> GivenInput | None:
    given = {"source": item} if isinstance(item, str) else item
    if not isinstance(given, dict) or not given.keys() <= {"source", "target"}:
        return None
    source, target = given.get("source"), given.get("target")
    if not isinstance(source, str) or not source or not isinstance(target, str | None):
        return None
    if _SENT.fullmatch(source):
        return GivenInput(target or source.rpartition("/")[2], source=source)
    path = (folder / Path(source).expanduser()).resolve()
    return GivenInput(target or path.name, path)


def _sent(
    transport: Transport, one: GivenInput, progress: Progress | None, announce: Callable[[Path], None] | None
) -> str:
    if one.path is None:
        return one.source
    from muster.client.packing import pack_input  # archives and digests are no business of `muster get jobs`

    check_inputs([one])
    if announce is not None:
        announce(one.path)
    with pack_input(one.path) as package:
        upload(transport, package, progress)
        return package.digest if one.path.is_dir() else f"{package.digest}/{one.path.name}"
