"""How the server itself is, as the API answers it to admins."""

from typing import Annotated, NotRequired, TypedDict


class DatabaseHealth(TypedDict):
    kind: Annotated[str, "`sqlite` or `postgresql`."]
    answersMs: Annotated[float | None, "How long a short read took; null if it failed."]
    problem: Annotated[str, "Why it does not answer; empty if it does."]
    sizeBytes: Annotated[int | None, "The size of an SQLite database."]
    lastEvent: Annotated[int | None, "The number of the newest event."]


class LoopHealth(TypedDict):
    """How long everything waits for its turn, over the last minute."""

    meanDelayMs: float
    longestDelayMs: float


class QueueHealth(TypedDict):
    open: Annotated[int, "Jobs that have not ended."]
    waiting: Annotated[int, "Jobs that wait for a start, on all clusters."]
    cycles: Annotated[int, "Scheduling cycles since the server began to act."]


class DiskHealth(TypedDict):
    totalBytes: int | None
    freeBytes: int | None


class ProcessHealth(TypedDict):
    memoryBytes: int | None
    cpuSeconds: float
    threads: int
    openFiles: int | None
    connections: Annotated[int, "Open connections of clients."]
    streams: Annotated[int, "Open streams of events and logs."]
    simulations: Annotated[int, "Simulations that run."]


class LogServerHealth(TypedDict):
    """How the sending of records to the log server goes."""

    address: str
    problem: Annotated[str, "Why records cannot be sent now; empty if they can."]
    failingSince: str | None
    waiting: Annotated[int, "Records that wait."]
    oldestAt: Annotated[str | None, "When what the oldest of them is about took place."]
    sent: Annotated[int, "Records that were sent since the server began to act."]
    refused: Annotated[int, "Records that the log server did not take, and that were left out."]
    dropped: Annotated[int, "Records that were removed unsent, because too many waited."]


class ServerHealth(TypedDict):
    version: str
    server: Annotated[str, "The address of this server."]
    role: Annotated[str, "`acting` or `standby`."]
    startedAt: str
    uptimeS: float
    isHeld: Annotated[bool, "Whether the database was restored, and nothing is started until an admin releases it."]
    database: DatabaseHealth
    loop: LoopHealth
    queue: Annotated[QueueHealth | None, "Null for a standby."]
    logServer: NotRequired[Annotated[LogServerHealth | None, "Null without one, and for a standby."]]
    disk: DiskHealth
    process: ProcessHealth


class WriteCheckOut(TypedDict):
    databaseMs: Annotated[float, "How long a durable write to the database took."]
    diskMs: Annotated[float, "How long a durable write to the disk of the server took."]
    installation: Annotated[str, "The same for all servers on one database, and for no others."]
