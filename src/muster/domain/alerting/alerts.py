"""Alerts: what is not as it should be now, and what to do about it. Each has a stable kind and its numbers, from which
a page can say it in another language."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256


class Severity(StrEnum):
    CRITICAL = "critical"
    """Work stands still, or will soon."""
    WARNING = "warning"
    """Something works less well than it should."""
    INFO = "info"


class SubjectType(StrEnum):
    NODE = "node"
    GPU = "gpu"
    CLUSTER = "cluster"
    JOB = "job"
    SERVER = "server"


class AlertKind(StrEnum):
    NODE_UNREACHABLE = "node-unreachable"
    NODE_HELD = "node-held"
    NODE_PROBLEM = "node-problem"
    NODE_DISK = "node-disk"
    GPU_OUT_OF_SERVICE = "gpu-out-of-service"
    CLUSTER_UNREACHABLE = "cluster-unreachable"
    CLUSTER_FILE = "cluster-file"
    JOB_NEEDS_ACTION = "job-needs-action"
    IDLE_ALLOCATION = "idle-allocation"
    KEPT_DATA = "kept-data"
    SERVER_DISK = "server-disk"
    SERVER_HELD = "server-held"
    LOG_SERVER = "log-server"


@dataclass(frozen=True, slots=True)
class Subject:
    """What an alert is about."""

    type: SubjectType
    name: str
    cluster: str = ""
    id: str = ""
    """The id of a job."""


@dataclass(frozen=True, slots=True)
class Alert:
    kind: AlertKind
    severity: Severity
    subject: Subject
    message: str
    advice: str = ""
    since: float | None = None
    """When it began, if that is known."""
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    concerns_me: bool = False
    """Whether it concerns the work of the person who asks, or something that this person looks after."""
    part: str = ""
    """Tells alerts of one kind about one subject apart."""

    @property
    def id(self) -> str:
        """It stays the same as long as the alert lasts."""
        subject = self.subject.id or f"{self.subject.cluster}/{self.subject.name}"
        part = f":{sha256(self.part.encode()).hexdigest()[:8]}" if self.part else ""
        return f"{self.kind}:{subject}{part}"


ORDER = tuple(Severity)
"""The worst first."""
