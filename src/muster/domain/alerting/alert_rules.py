"""Rules of alerts: what is watched, how long it must last, and what is done then. The defaults have OpenPAI's names
where OpenPAI has such an alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.alerting.alerts import Severity, SubjectType


class Check(StrEnum):
    """What a rule watches."""

    NODE_UNREACHABLE = "node-unreachable"
    NODE_DISK = "node-disk"
    NODE_MEMORY = "node-memory"
    NODE_CPU = "node-cpu"
    GPU_ECC = "gpu-ecc"
    GPU_LOST = "gpu-lost"
    GPU_TEMPERATURE = "gpu-temperature"
    GPU_FOREIGN_PROCESS = "gpu-foreign-process"
    GPU_IDLE = "gpu-idle"
    CLUSTER_UNREACHABLE = "cluster-unreachable"
    QUEUE_LENGTH = "queue-length"
    JOB_WAITING = "job-waiting"
    JOB_NEEDS_ACTION = "job-needs-action"
    JOB_HUNG = "job-hung"
    JOB_STALLED = "job-stalled"
    CERTIFICATE = "certificate"
    SERVER_DISK = "server-disk"
    LOG_SERVER = "log-server"


class AlertAction(StrEnum):
    """What is done when an alert fires."""

    NOTIFY = "notify"
    MAIL_OWNER = "mail-owner"
    STACKS = "stacks"
    CORDON = "cordon"
    STOP = "stop"
    TAG = "tag"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """`unit` is that of the threshold; empty if the check has none."""

    subject: SubjectType
    help: str
    unit: str = ""


CHECKS: Mapping[Check, CheckFacts] = {
    Check.NODE_UNREACHABLE: CheckFacts(SubjectType.NODE, "A node cannot be reached."),
    Check.NODE_DISK: CheckFacts(SubjectType.NODE, "The disk of a node is fuller than the threshold.", "percent"),
    Check.NODE_MEMORY: CheckFacts(SubjectType.NODE, "A node uses more memory than the threshold.", "percent"),
    Check.NODE_CPU: CheckFacts(SubjectType.NODE, "A node uses more CPU than the threshold.", "percent"),
    Check.GPU_ECC: CheckFacts(SubjectType.GPU, "A GPU has memory errors that ECC could not correct."),
    Check.GPU_LOST: CheckFacts(SubjectType.GPU, "The driver does not list a GPU any more."),
    Check.GPU_TEMPERATURE: CheckFacts(SubjectType.GPU, "A GPU is hotter than the threshold.", "degrees Celsius"),
    Check.GPU_FOREIGN_PROCESS: CheckFacts(SubjectType.GPU, "A process that Muster did not start uses a GPU."),
    Check.GPU_IDLE: CheckFacts(
        SubjectType.JOB, "A running job has GPUs, and none of them is busier than the threshold.", "percent"
    ),
    Check.CLUSTER_UNREACHABLE: CheckFacts(SubjectType.CLUSTER, "A cluster can start no job."),
    Check.QUEUE_LENGTH: CheckFacts(SubjectType.CLUSTER, "More jobs wait on a cluster than the threshold.", "jobs"),
    Check.JOB_WAITING: CheckFacts(SubjectType.JOB, "A job waits; `for` says how long it may."),
    Check.JOB_NEEDS_ACTION: CheckFacts(SubjectType.JOB, "A job does not start until somebody acts."),
    Check.JOB_HUNG: CheckFacts(
        SubjectType.JOB, "A task does nothing and writes no log while others of its job work.", "percent"
    ),
    Check.JOB_STALLED: CheckFacts(
        SubjectType.JOB, "All tasks of a gang, or of a job with GPUs, do nothing and write no log.", "percent"
    ),
    Check.CERTIFICATE: CheckFacts(SubjectType.SERVER, "The server's certificate ends within the threshold.", "days"),
    Check.SERVER_DISK: CheckFacts(SubjectType.SERVER, "The disk of the server's home folder is nearly full."),
    Check.LOG_SERVER: CheckFacts(SubjectType.SERVER, "Records of jobs cannot be sent to the log server."),
}

_NODES = frozenset({SubjectType.NODE, SubjectType.GPU})
_JOBS = frozenset({SubjectType.JOB})
SUBJECTS_OF_ACTIONS: Mapping[AlertAction, frozenset[SubjectType]] = {
    AlertAction.NOTIFY: frozenset(SubjectType),
    AlertAction.MAIL_OWNER: _JOBS,
    AlertAction.STACKS: _JOBS,
    AlertAction.CORDON: _NODES,
    AlertAction.STOP: _JOBS,
    AlertAction.TAG: _JOBS,
    AlertAction.RESTART: _JOBS,
}
"""What each action can be done to."""


@dataclass(frozen=True, slots=True)
class AlertRule:
    name: str
    check: Check
    severity: Severity = Severity.WARNING
    threshold: float | None = None
    for_s: float = 0.0
    """How long it must last before the alert fires."""
    keep_s: float = 120.0
    """How long it must be over before the alert resolves, so that something that comes and goes is told once."""
    clusters: tuple[str, ...] = ()
    """The clusters that are watched, with * for any characters; all if empty."""
    actions: tuple[AlertAction, ...] = (AlertAction.NOTIFY,)
    inhibits: tuple[str, ...] = ()
    """Rules whose alerts about the same node or cluster are not told while this one fires."""

    @property
    def subject(self) -> SubjectType:
        return CHECKS[self.check].subject


_MINUTE, _HOUR = 60.0, 3600.0
_OWNER = (AlertAction.NOTIFY, AlertAction.MAIL_OWNER)
_EVIDENCE = (AlertAction.STACKS, *_OWNER)
_OF_A_NODE = (
    "NodeFilesystemUsage",
    "NodeMemoryUsage",
    "NodeCPUUsage",
    "NvidiaSmiDoubleEccError",
    "NodeGpuCountChanged",
    "GpuTemperatureTooHigh",
    "GpuUsedByExternalProcess",
)
DEFAULT_RULES: tuple[AlertRule, ...] = (
    AlertRule("NodeNotReady", Check.NODE_UNREACHABLE, Severity.CRITICAL, for_s=5 * _MINUTE, inhibits=_OF_A_NODE),
    AlertRule("NodeFilesystemUsage", Check.NODE_DISK, threshold=80, for_s=5 * _MINUTE),
    AlertRule("NodeMemoryUsage", Check.NODE_MEMORY, threshold=95, for_s=5 * _MINUTE),
    AlertRule("NodeCPUUsage", Check.NODE_CPU, Severity.INFO, threshold=98, for_s=_HOUR),
    AlertRule("NvidiaSmiDoubleEccError", Check.GPU_ECC, Severity.CRITICAL),
    AlertRule("NodeGpuCountChanged", Check.GPU_LOST, Severity.CRITICAL, for_s=_MINUTE),
    AlertRule("GpuTemperatureTooHigh", Check.GPU_TEMPERATURE, threshold=90, for_s=5 * _MINUTE),
    AlertRule("GpuUsedByExternalProcess", Check.GPU_FOREIGN_PROCESS, for_s=5 * _MINUTE),
    AlertRule("JobGpuIdle", Check.GPU_IDLE, threshold=5, for_s=30 * _MINUTE, actions=_OWNER),
    AlertRule(
        "ClusterNotReady",
        Check.CLUSTER_UNREACHABLE,
        Severity.CRITICAL,
        for_s=5 * _MINUTE,
        inhibits=("NodeNotReady", "PaiJobPending", "QueueTooLong", *_OF_A_NODE),
    ),
    AlertRule("QueueTooLong", Check.QUEUE_LENGTH, threshold=500, for_s=30 * _MINUTE),
    AlertRule("PaiJobPending", Check.JOB_WAITING, Severity.INFO, for_s=30 * _MINUTE, actions=(AlertAction.MAIL_OWNER,)),
    AlertRule("JobNeedsAction", Check.JOB_NEEDS_ACTION, for_s=10 * _MINUTE, actions=(AlertAction.MAIL_OWNER,)),
    AlertRule("JobHung", Check.JOB_HUNG, threshold=2, for_s=15 * _MINUTE, actions=_EVIDENCE),
    AlertRule("JobStalled", Check.JOB_STALLED, threshold=2, for_s=30 * _MINUTE, actions=_EVIDENCE),
    AlertRule("CertificateExpires", Check.CERTIFICATE, threshold=30),
    AlertRule("ServerFilesystemUsage", Check.SERVER_DISK, Severity.CRITICAL, for_s=_MINUTE),
    AlertRule("LogServerNotReachable", Check.LOG_SERVER),
)
