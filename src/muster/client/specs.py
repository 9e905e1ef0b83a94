"""`Job` and `Role`, and the spec that is made from them. The server validates specs; nothing is validated here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Command = str | Sequence[str]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of task in a job.

        Role(command=["python", "train.py"], replicas=4, gpu=1, memory="8Gi")

    `cpu`, `memory` and `gpu` are for each replica; `gpu=0.5` is half of one GPU. So are `devices`, other devices by the
    name of their resource: `{"xilinx.com/fpga": 1}`. `stdin` keeps standard input open for `muster attach`, and `tty`
    gives each task a terminal. `extra` takes any other key of the spec unchanged.
    """

    command: Command
    replicas: int = 1
    cpu: str | float | None = None
    memory: str | int | None = None
    gpu: float | None = None
    gpu_type: str | None = None
    devices: Mapping[str, int] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    tty: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_spec(self) -> dict[str, Any]:
        return _without_empty(
            replicas=self.replicas,
            command=_command(self.command),
            resources=_resources(self),
            env=dict(self.env),
            stdin=self.stdin or None,
            tty=self.tty or None,
            **self.extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job to submit: either one command, or roles by name.

        Job(name="mnist", command=["python", "train.py"], replicas=2, gpu=1)

        Job(
            name="wide-and-deep",
            framework="paddle",
            package="./src",
            roles={
                "ps": Role(command="python train.py", replicas=2),
                "worker": Role(command="python train.py", replicas=2, gpu=1),
            },
        )

    `package` is a folder, which is packed and uploaded on submit, the digest of one that the server already has, or
    `CLUSTER:FOLDER/PATH`, which lies on the cluster and is used there.
    `inputs` are files and folders that tasks read; `outputs` are the files to collect when they have ended. `secrets`
    are given to tasks by name: `{"name": "wandb", "env": "WANDB_API_KEY"}`. `setup` is a command that runs once
    per node before the tasks, such as `pip install -r requirements.txt`. `extra` takes any other key of the spec
    unchanged.
    """

    name: str
    command: Command | None = None
    replicas: int | None = None
    cpu: str | float | None = None
    memory: str | int | None = None
    gpu: float | None = None
    gpu_type: str | None = None
    devices: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    framework: str | None = None
    cluster: str | None = None
    priority: str | None = None
    time_limit: str | float | None = None
    retries: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Scalar] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    package: str | None = None
    inputs: Sequence[str | Mapping[str, str]] = ()
    outputs: Sequence[str] = ()
    secrets: Sequence[Mapping[str, str]] = ()
    setup: Command | None = None
    hold: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_spec(self) -> dict[str, Any]:
        return _without_empty(
            name=self.name,
            cluster=self.cluster,
            framework=self.framework,
            priority=self.priority,
            timeLimit=self.time_limit,
            retry=None if self.retries is None else {"max": self.retries},
            description=self.description,
            labels=dict(self.labels),
            env=dict(self.env),
            params=dict(self.params),
            package=self.package,
            inputs=[one if isinstance(one, str) else dict(one) for one in self.inputs] or None,
            outputs=list(self.outputs) or None,
            secrets=[dict(one) for one in self.secrets] or None,
            setup=None if self.setup is None else _command(self.setup),
            hold=self.hold or None,
            command=None if self.command is None else _command(self.command),
            replicas=self.replicas,
            resources=_resources(self),
            roles={name: role.to_spec() for name, role in self.roles.items()},
            **self.extra,
        )


def _command(command: Command) -> str | list[str]:
    return command if isinstance(command, str) else [str(word) for word in command]


def _resources(given: Role | Job) -> dict[str, Any]:
    return _without_empty(
        cpu=given.cpu, memory=given.memory, gpu=given.gpu, gpuType=given.gpu_type, devices=dict(given.devices)
    )


def _without_empty(**items: Any) -> dict[str, Any]:
    return {name: value for name, value in items.items() if value is not None and value != {}}
