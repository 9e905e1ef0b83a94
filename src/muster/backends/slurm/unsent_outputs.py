"""What a task without a shared folder could not send of its outputs to the login node."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from muster.ports.capabilities import Collected


def with_unsent(found: Collected, told: Mapping[str, Any]) -> Collected:
    """What was found at the login node, and what the task told about the rest."""
    return replace(
        found,
        left_out=(*found.left_out, *map(str, told["left_out"])),
        skipped=found.skipped + int(told["skipped"]),
        too_deep=found.too_deep + int(told["too_deep"]),
        problem=str(told["problem"]),
    )
