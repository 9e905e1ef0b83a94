"""What a live stream tells: the data of each of its events."""

from typing import Annotated, Any, TypedDict

from muster.api.events import EventOut
from muster.api.jobs import JobOut, TaskOut
from muster.api.nodes import NodeOut


class LiveReadyOut(TypedDict):
    seq: Annotated[int, "The number of the last event that had happened when the stream began."]
    at: Annotated[str, "The server's time."]
    missing: Annotated[list[str], "The topics that were left out, with `skipMissing`."]


class LiveJobsOut(TypedDict):
    jobs: Annotated[list[JobOut], "The jobs that have changed, as they are now."]
    gone: Annotated[list[str], "The ids of jobs that were deleted."]


class LiveJobOut(TypedDict):
    id: str
    job: Annotated[JobOut | None, "The job as it is now; null if it was deleted."]
    tasks: Annotated[list[TaskOut], "Those of its tasks that have changed, as they are now."]
    events: Annotated[list[EventOut], "What happened to it since the last one."]


class LiveNodeRef(TypedDict):
    cluster: str
    name: str


class LiveNodesOut(TypedDict):
    nodes: Annotated[list[NodeOut], "The nodes that have changed, as they are now."]
    gone: list[LiveNodeRef]


class LiveLogOut(TypedDict):
    worker: Annotated[str, "Role and index, such as `worker-0`."]
    attempt: int
    sizeBytes: Annotated[int, "How much it has printed, with what was dropped of it."]
    isOver: Annotated[bool, "Whether it will print no more."]


class LiveLogsOut(TypedDict):
    id: str
    worker: Annotated[str | None, "The one worker that the topic is about; null if it is about all."]
    isRunning: Annotated[bool, "Whether any task is there that may print more."]
    logs: Annotated[list[LiveLogOut], "Those that have grown or ended."]


class LiveServerLogOut(TypedDict):
    after: Annotated[str | None, "The cursor before the entries; null if none are told, but only where the log ends."]
    items: Annotated[list[dict[str, Any]], "Entries, oldest first, as `/server/log` answers them."]
    nextCursor: Annotated[str, "The cursor after them. If `after` is not where you are, read from where you are."]


class LiveChangedOut(TypedDict):
    topics: Annotated[list[str], "The topics that are worth asking for again."]


class LiveResyncOut(TypedDict):
    pass


class LiveEventsOut(TypedDict):
    """The data of the events, by name of the event."""

    ready: Annotated[LiveReadyOut, "The stream has begun."]
    jobs: Annotated[LiveJobsOut, "Events of the topic `jobs`."]
    job: Annotated[LiveJobOut, "Events of topics such as `job:ID`."]
    nodes: Annotated[LiveNodesOut, "Events of the topic `nodes`. What is sampled is told every two seconds at most."]
    logs: Annotated[LiveLogsOut, "Events of topics such as `logs:ID`, a few times a second at most."]
    serverLog: Annotated[LiveServerLogOut, "Events of the topic `server-log`, a few times a second at most."]
    changed: Annotated[LiveChangedOut, "Events of the other topics, once a second at most."]
    resync: Annotated[LiveResyncOut, "Something was left out: ask for everything again."]
