"""What the processes of a job's tasks stand at, as the API answers it."""

from typing import Annotated, TypedDict


class TaskStacksOut(TypedDict):
    task: str
    node: str
    text: Annotated[str, "Processes, threads and stacks, for people."]
    problem: Annotated[str, "Why nothing could be collected; else empty."]


class StacksOut(TypedDict):
    at: str
    by: Annotated[str, "The user who asked, or `alert:` and the name of the rule."]
    attempt: int
    tasks: list[TaskStacksOut]
    leftOut: Annotated[int, "How many running tasks were not asked, because there are too many."]


class StacksList(TypedDict):
    items: list[StacksOut]
