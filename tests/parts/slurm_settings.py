"""The settings files of a Slurm cluster for tests: small waits, pretend GPUs, two partitions of the same nodes."""

import socket
from dataclasses import dataclass
from pathlib import Path

from tests.parts.slurm_numbers import SlurmNumber

DEFAULT_PARTITION = "main"
URGENT_PARTITION = "urgent"
"""Its jobs take nodes away from those of the default partition, which go back to the queue."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")


@dataclass(frozen=True)
class SlurmNode:
    """What Slurm believes of a node, whatever the machine has."""

    name: str
    gpu_type: str
    gpus: int
    features: str
    cpus: int = 4
    memory_mb: int = 4000


NODES = (
    SlurmNode("n1", "a100", 2, "a100,fast"),
    SlurmNode("n2", "a100", 2, "a100,fast"),
    SlurmNode("n3", "v100", 4, "v100"),
    SlurmNode("n4", "v100", 4, "v100"),
)


@dataclass(frozen=True)
class SlurmOptions:
    accounting: bool = False
    address: str | None = None
    """Where other hosts reach the controller and the nodes; None: only this machine does."""
    min_job_age_s: int = 300
    """How long the controller remembers a job that has ended."""
    node_timeout_s: int = 60
    """How long a node may be silent before Slurm gives it up."""
    kills_for_memory: bool = False
    """A job that uses more memory than it asked for is killed."""
    limits_memory: bool = False
    """The kernel kills a process of a job that uses more memory than it asked for."""
    has_gpu_types: bool = True
    """Otherwise, only the features of a node say which GPUs it has."""
    extra: str = ""
    """More lines of slurm.conf."""


def slurm_conf(folder: Path, number: SlurmNumber, options: SlurmOptions) -> str:
    host = controller_host()
    lines = [
        "ClusterName=muster",
        "MailProg=/bin/true",
        f"SlurmctldHost={host}({options.address or '127.0.0.1'})",
        f"SlurmctldPort={number.controller_port}",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={munge_socket(folder)}",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"TmpFS={folder}/tmp-%n",
        f"SlurmctldPidFile={folder}/run/slurmctld.pid",
        f"SlurmdPidFile={folder}/run/slurmd-%n.pid",
        "ProctrackType=proctrack/linuxproc",
        f"TaskPlugin=task/{'cgroup' if options.limits_memory else 'none'}",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "DefMemPerCPU=100",
        "GresTypes=gpu",
        "SlurmdParameters=config_overrides",
        "ReturnToService=1",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "JobRequeue=1",
        "MpiDefault=none",
        *_waits(options),
        *_accounting(folder, number, options),
    ]
    for index, node in enumerate(NODES):
        where = f"NodeHostname={host} NodeAddr={node_address(number, options, index)} Port={number.node_port(index)}"
        size = f"CPUs={node.cpus} RealMemory={node.memory_mb} Gres=gpu:{_typed(node, options)}{node.gpus}"
        lines.append(f"NodeName={node.name} {where} {size} Feature={node.features} State=UNKNOWN")
    lines.append(f"PartitionName={DEFAULT_PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1")
    lines.append(f"PartitionName={URGENT_PARTITION} Nodes=ALL MaxTime=60 PriorityTier=10 PreemptMode=OFF")
    return "\n".join([*lines, options.extra, ""])


def gres_conf(options: SlurmOptions) -> str:
    lines = []
    for node in NODES:
        files = ",".join(_DEVICES[: node.gpus])
        type_ = f"Type={node.gpu_type} " if options.has_gpu_types else ""
        lines.append(f"NodeName={node.name} Name=gpu {type_}File={files}\n")
    return "".join(lines)


def _typed(node: SlurmNode, options: SlurmOptions) -> str:
    return f"{node.gpu_type}:" if options.has_gpu_types else ""


def cgroup_conf() -> str:
    lines = ["CgroupPlugin=autodetect", "IgnoreSystemd=yes", "ConstrainRAMSpace=yes", "ConstrainSwapSpace=yes"]
    return "\n".join([*lines, "AllowedSwapSpace=0", ""])


def slurmdbd_conf(folder: Path, number: SlurmNumber) -> str:
    host = controller_host()
    lines = [
        f"DbdHost={host}",
        "DbdAddr=127.0.0.1",
        f"DbdPort={number.accounting_port}",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={munge_socket(folder)}",
        f"PidFile={folder}/run/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=127.0.0.1",
        f"StoragePort={number.database_port}",
        "StorageUser=slurm",
        "StoragePass=slurm",
        "StorageLoc=slurm_acct_db",
        "CommitDelay=1",
    ]
    return "\n".join([*lines, ""])


def controller_host() -> str:
    return socket.gethostname().partition(".")[0]


def munge_socket(folder: Path) -> Path:
    path = folder / "munge" / "socket"
    assert len(str(path)) < 100, f"{path} is too long for a Unix socket; choose a shorter folder"
    return path


def node_address(number: SlurmNumber, options: SlurmOptions, index: int) -> str:
    return options.address or number.node_address(index)


def _waits(options: SlurmOptions) -> list[str]:
    """Heterogeneous jobs are started by the backfill scheduler only, so that its interval counts."""
    return [
        "SchedulerType=sched/backfill",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1,bf_continue",
        f"MinJobAge={options.min_job_age_s}",
        f"SlurmdTimeout={options.node_timeout_s}",
        "SlurmctldTimeout=2",  # for so long, commands try to reach a controller that is away
        "KillWait=2",
        "CompleteWait=0",
        "InactiveLimit=0",
        "MessageTimeout=30",
        "UnkillableStepTimeout=600",  # a step whose controller is away takes long to end, and its node would be drained
        "WaitTime=0",
    ]


def _accounting(folder: Path, number: SlurmNumber, options: SlurmOptions) -> list[str]:
    gathers = options.accounting or options.kills_for_memory
    lines = [f"JobAcctGatherType=jobacct_gather/{'linux' if gathers else 'none'}", "JobAcctGatherFrequency=1"]
    if options.kills_for_memory:
        lines.append("JobAcctGatherParams=OverMemoryKill")
    if not options.accounting:
        return [*lines, "AccountingStorageType=accounting_storage/none"]
    return [
        *lines,
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={number.accounting_port}",
        f"AccountingStoragePass={munge_socket(folder)}",
        "AccountingStorageTRES=gres/gpu",
        "AccountingStoreFlags=job_comment,job_script",
    ]
