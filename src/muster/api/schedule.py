"""Who ran and runs where over time, and what is expected, as the API answers it."""

from typing import Annotated, TypedDict

from muster.api.jobs import TaskStateName

SpanKeys = TypedDict("SpanKeys", {"from": str, "to": str | None})
"""`from` is a word of Python."""


class SpanOut(SpanKeys):
    job: Annotated[str | None, "The id of the job; null if you may not see it."]
    name: str
    owner: str | None
    task: str | None
    state: TaskStateName
    endsBy: Annotated[str | None, "When its time limit runs out, while it runs."]


class LaneOut(TypedDict):
    cluster: str
    node: str
    device: Annotated[int | None, "The index of a GPU; null for tasks without GPUs, which may overlap."]
    spans: Annotated[list[SpanOut], "The oldest first. A task with several GPUs has a span in the lane of each."]


class ExpectedOut(SpanKeys):
    job: Annotated[str | None, "The id of the job; null if you may not see it."]
    name: str
    owner: str | None
    cluster: str
    nodes: Annotated[list[str], "Empty if the engine of the cluster chooses them."]


ReservedKeys = TypedDict("ReservedKeys", {"from": str | None})


class ReservedOut(ReservedKeys):
    job: Annotated[str | None, "The id of the job; null if you may not see it."]
    name: str
    owner: str | None
    cluster: str
    nodes: list[str]


class ScheduleOut(TypedDict):
    since: str
    until: str
    lanes: Annotated[list[LaneOut], "Those of nodes and GPUs on which something ran in the window."]
    expected: Annotated[
        list[ExpectedOut], "Waiting jobs with the times at which they are likely to start, if that is known."
    ]
    reserved: Annotated[list[ReservedOut], "What is kept for jobs that do not fit yet."]
    isCut: Annotated[bool, "Whether tasks that began first are missing, because there are more than `limit`."]
