"""The way to a running task through the login node, which starts a step beside the task when somebody enters it."""

from collections.abc import Awaitable
from typing import Any, Protocol

from muster.agent.system.frames import Message


class LoginNodeOrder(Protocol):
    """Sends a request to the agent on the login node, and raises what its failure means."""

    def __call__(self, op: str, **arguments: Any) -> Awaitable[Message]: ...


class InTask:
    """Answers requests about one task as the agent of a node would."""

    def __init__(self, task_id: str, order: LoginNodeOrder) -> None:
        self._task_id = task_id
        self._order = order

    async def ask(self, op: str, **arguments: Any) -> Message:
        return await self._order("batch_in_task", **{**arguments, "asked": op, "task": self._task_id})
