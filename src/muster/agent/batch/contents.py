"""Unpacks the package and the inputs of a task into its folder inside an allocation."""

from __future__ import annotations

import os
from typing import Any, Mapping

from muster.agent.errors import PACKAGE, AgentError
from muster.agent.tasks import inputs
from muster.agent.tasks.launch_request import InputRef
from muster.agent.tasks.packages import PackageError, unpack


def place_contents(order: Mapping[str, Any], blobs: str, folder: str, work: str) -> None:
    """Raises AgentError for an archive that is not what it should be, and OSError."""
    try:
        if order["package"]:
            unpack(os.path.join(blobs, order["package"]), order["package"], work)
        os.makedirs(work, 0o700, exist_ok=True)
        for given in order["inputs"]:
            _place_input(given, blobs, folder, work)
    except PackageError as error:
        raise AgentError(PACKAGE, str(error)) from None


def _place_input(given: Mapping[str, str], blobs: str, folder: str, work: str) -> None:
    content = os.path.join(folder, "inputs", given["digest"])
    os.makedirs(os.path.dirname(content), 0o700, exist_ok=True)
    unpack(os.path.join(blobs, given["digest"]), given["digest"], content, finish=inputs.make_read_only)
    inputs.place(InputRef(given["digest"], None, given["target"], given["member"]), content, work)
