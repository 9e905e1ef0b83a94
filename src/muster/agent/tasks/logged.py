"""What reading and watching logs need to know of a task, whoever runs it."""

from __future__ import annotations

from typing import Optional, Protocol

from muster.agent.tasks.masking import Masks


class LoggedTask(Protocol):
    uid: str
    folder: str
    masks: Optional[Masks]
    is_remote: bool
    """Whether another machine writes the log. The kernel may not tell us when it grows."""

    @property
    def over(self) -> bool: ...

    def log_bytes(self) -> int: ...
