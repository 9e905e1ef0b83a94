"""The configuration of a Slurm, of one node or several, that lives in one folder. It writes text and starts nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Slurm's defaults wait up to 3 s before a batch job; these are its own settings for starting at once.
TUNED = "batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1"
# With one CPU per job, 16 at once on two cores: more than Muster's default request allows itself.
JOBS_PER_CPU = 8

TEMPLATE = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters={parameters}
MaxJobCount=20000
ReturnToService=2
{node_lines}
PartitionName=main Nodes={node_names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:{jobs_per_cpu}
"""


@dataclass(frozen=True)
class SlurmConf:
    folder: Path
    host: str
    cpus: int
    controller_port: int
    node_ports: Sequence[int]
    """As many as there are nodes."""
    parameters: str = TUNED

    @property
    def path(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def nodes(self) -> Sequence[str]:
        return [f"n{index}" for index in range(1, len(self.node_ports) + 1)]

    def write(self) -> None:
        (self.folder / "state").mkdir()
        lines = []
        for node, port in zip(self.nodes, self.node_ports, strict=True):
            (self.folder / f"spool-{node}").mkdir()
            where = f"NodeHostname={self.host} NodeAddr=127.0.0.1 Port={port}"
            lines.append(f"NodeName={node} {where} CPUs={self.cpus} RealMemory=1000")
        more = {"jobs_per_cpu": JOBS_PER_CPU, "node_lines": "\n".join(lines), "node_names": ",".join(self.nodes)}
        text = TEMPLATE.format(**{**vars(self), **more})
        self.path.write_text(text)
