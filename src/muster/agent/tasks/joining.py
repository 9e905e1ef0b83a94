"""How the first process of a task gets into its control groups. The shim needs to know no more about them than this."""

from __future__ import annotations

from typing import NamedTuple, Tuple


class Joining(NamedTuple):
    """The files by which a task gets into its groups."""

    through: str
    """The shim enters this group, starts the task there, so that it is in it from its first moment, and leaves."""
    back: str
    itself: Tuple[str, ...]
    """The task's first process enters these, before it becomes the command."""
