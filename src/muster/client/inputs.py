"""Reads the `inputs` of a job, and packs and uploads each of them like a package.

Inputs that cannot be parsed here are passed on unchanged, so that the server reports what is wrong with them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.client.errors import Problem
from muster.client.transport import Transport
from muster.client.uploading import Announce, Progress, upload

_ON_A_CLUSTER = re.compile(r"/[^/:]+:(?=[^/])(.+)")
_SENT = re.compile(r"[0-9a-f]{64}(/[^/]+)?")


@dataclass(frozen=True, slots=True)
class GivenInput:
    """`path` is a local file or folder to send; `source` names content that the server already has."""

    target: str
    path: Path | None = None
    source: str = ""


def read_inputs(value: Any, folder: Path) -> tuple[GivenInput, ...] | None:
    """Parses inputs; None if they cannot be parsed. `folder` is the base of relative paths."""
    items = [value] if isinstance(value, str | dict) else value
    if not isinstance(items, list):
        return None
    found = [_read(item, folder) for item in items]
    return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def send_inputs(
    transport: Transport,
    inputs: Sequence[GivenInput],
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> list[dict[str, str]]:
    """Sends the inputs and returns them as the server expects them. Content that it already has is not sent again."""
    return [{"source": _sent(transport, one, progress, announce), "target": one.target} for one in inputs]


def missing_inputs(inputs: Sequence[GivenInput]) -> list[Problem]:
    """Returns a problem for each input to be sent that does not exist."""
    return [
        Problem("inputs", f"{one.path} does not exist", _where_to_look(one))
        for one in inputs
        if one.path is not None and not one.path.exists()
    ]


def _where_to_look(one: GivenInput) -> str:
    on_a_cluster = _ON_A_CLUSTER.search(str(one.path))
    if on_a_cluster is None:
        return "paths are relative to the job file"
    mount = f"{{source: {on_a_cluster[1]}, target: {one.target}}}"
    return f"paths are relative to the job file; files on a cluster are mounted, not sent: `mounts: [{mount}]`"


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


def _sent(transport: Transport, one: GivenInput, progress: Progress | None, announce: Announce | None) -> str:
    if one.path is None:
        return one.source
    from muster.client.packing import (
        pack_input,
    )  # so that `muster get jobs` does not import the code for archives and digests

    if announce is not None:
        announce(one.path, 0)
    with pack_input(one.path) as package:
        upload(transport, package, progress)
        return package.digest if one.path.is_dir() else f"{package.digest}/{one.path.name}"
