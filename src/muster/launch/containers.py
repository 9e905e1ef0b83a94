"""A task in a container: the exact words for podman, docker or apptainer.

The task's folder lies at the same path inside as outside, so that everything that names a path in it holds in both.
Variables may be secrets, so none of them stands among the arguments, which everybody on the node can read. Podman and
docker take them from a file; one that no line of a file can hold is inherited by name. Apptainer takes all of them from
its own environment.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from muster.domain.errors import Invalid
from muster.domain.specs import Mount

PODMAN, DOCKER, APPTAINER = "podman", "docker", "apptainer"
ENV_FILE = "container.env"
STATE_FILE = "container.state"
"""Says after a bad end whether the container was killed for want of memory: `true` or `false`."""

# How an engine hands out cards.
CDI = "cdi"
"""`--device nvidia.com/gpu=N`: the cards are described in files that the engine reads."""
GPUS = "gpus"
"""Docker's `--gpus`."""
HOOK = "hook"
"""NVIDIA's hook reads NVIDIA_VISIBLE_DEVICES, which tasks have anyway."""
DRIVER = "driver"
"""Apptainer's `--nv`: all cards are there, and CUDA_VISIBLE_DEVICES chooses."""
ROCM = "rocm"
PRETENDED = "pretended"
"""There are no cards, but a test."""

# A client that is signalled while its container starts loses the exit code, or the signal. So all clients get sessions
# of their own, and the agent tells the container's first process itself. Why a container was killed only its engine
# knows, and only until it is removed: so that is asked and done here, where no agent is needed for it. Nothing is
# overwritten: the program could have made a link of the file's name.
_AROUND = """
trap : TERM INT HUP
set -C
engine=$1 name=$2 state=$3
shift 3
setsid "$engine" run --name "$name" "$@"
code=$?
[ "$code" = 0 ] ||
  setsid "$engine" container inspect --format '{{.State.OOMKilled}}' "$name" 2>/dev/null >"$state"
setsid "$engine" rm --force --volumes "$name" >/dev/null 2>&1
exit "$code"
"""
_LONGEST_LINE = 32_000
"""Engines read lines of up to 64 KiB."""
_SHARES_PER_CPU = 1024


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine as its node's agent found it."""

    name: str
    program: str
    rootless: bool = False
    init: bool = True
    """It has an init of its own, which passes signals on and collects orphans."""
    limits: bool = True
    """It can hold a container to an amount of memory."""
    gpus: str = ""
    """How it hands out cards; empty: not at all."""
    groups: tuple[int, ...] = ()
    """Of AMD's device files, which nobody else may open."""

    @property
    def renumbers(self) -> bool:
        """Inside there are no other cards than the task's, counted from 0."""
        return self.gpus in (CDI, GPUS, HOOK)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task lies on its node, and as whom the agent runs there."""

    folder: str
    uid: int
    gid: int

    @property
    def work(self) -> str:
        return f"{self.folder}/work"


@dataclass(frozen=True, slots=True)
class Content:
    """What runs in the container."""

    task_id: str
    image: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    """With absolute paths on both sides."""
    devices: tuple[int, ...] = ()
    memory_bytes: int | None = None
    cpu_m: int | None = None


@dataclass(frozen=True, slots=True)
class Contained:
    """What is started on the node: the engine's client, with its own variables and the files it reads."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """Of the container, where the engine keeps one that somebody may have to remove."""
    command: tuple[str, ...] = ()
    """The engine's client alone, as a person would call it."""


def is_image(name: str) -> bool:
    """Whether an engine would take it for an image and not for one of its own options."""
    return re.fullmatch(r"[A-Za-z0-9/][^\s,]*", name) is not None


def contained(engine: Engine, content: Content, place: Place) -> Contained:
    if not is_image(content.image):
        raise Invalid(f"runtime.image: {content.image!r} is no name of an image")
    return _apptainer(engine, content, place) if engine.name == APPTAINER else _podman(engine, content, place)


def container_name(task_id: str) -> str:
    return f"muster.{task_id}"


def _podman(engine: Engine, content: Content, place: Place) -> Contained:
    """Docker takes the very same words."""
    env = _environment(engine, content, place)
    lines = {name: value for name, value in sorted(env.items()) if _fits_a_line(value)}
    inherited = {name: value for name, value in sorted(env.items()) if name not in lines}
    name = container_name(content.task_id)
    words = (
        *(("--init",) if engine.init else ()),
        *("--network", "host"),
        *("--ipc", "host"),  # data loaders and NCCL pass far more through /dev/shm than a container has of its own
        *("--log-driver", "none"),  # the task's log is what the client prints
        *("--security-opt", "label=disable"),  # folders of the node are no container's, and SELinux would hide them
        *(() if engine.rootless else ("--security-opt", "no-new-privileges")),  # or the image could make a root of it
        *("--user", _user(engine, place)),
        *("--workdir", place.work),
        *("--env-file", f"{place.folder}/{ENV_FILE}"),
        *(word for variable in inherited for word in ("--env", variable)),
        *("--mount", f"type=bind,source={place.folder},target={place.folder}"),
        *(word for mount in content.mounts for word in ("--mount", _bind(mount))),
        *device_words(engine, content.devices),
        *_limit_words(engine, content),
        *("--entrypoint", ""),
        content.image,
        *content.argv,
    )
    around = ("/bin/sh", "-c", _AROUND, "muster-container", engine.program, name, f"{place.folder}/{STATE_FILE}")
    files = {ENV_FILE: "".join(f"{variable}={value}\n" for variable, value in lines.items())}
    return Contained((*around, *words), inherited, files, name, (engine.program, "run", "--name", name, *words))


def _apptainer(engine: Engine, content: Content, place: Place) -> Contained:
    mounts = [Mount(place.folder, place.folder), *content.mounts]
    argv = (
        engine.program,
        "exec",
        "--cleanenv",
        *("--home", place.work),
        *("--pwd", place.work),
        *(word for mount in mounts for word in ("--bind", _colons(mount))),
        *device_words(engine, content.devices),
        _apptainer_image(content.image),
        *content.argv,
    )
    env = _environment(engine, content, place)
    env.pop("HOME", None)  # said by --home; a variable is refused
    inside = {f"APPTAINERENV_{name}": value for name, value in sorted(env.items())}
    # Else a shell in the container takes the values for its own words. An option of that name is refused before 1.1.
    return Contained(argv, {**inside, "APPTAINER_NO_EVAL": "true"}, command=argv)


def _environment(engine: Engine, content: Content, place: Place) -> dict[str, str]:
    env = {"HOME": place.work, **content.env}
    if content.devices and engine.renumbers:
        env["CUDA_VISIBLE_DEVICES"] = ",".join(str(number) for number in range(len(content.devices)))
    # By these the agent knows the task's processes, whoever started them.
    return {**env, "MUSTER_TASK_UID": content.task_id, "MUSTER_TASK_DIR": place.folder}


def _user(engine: Engine, place: Place) -> str:
    """Files that the task writes belong to the account outside: without root's help, root inside is that account."""
    return "0:0" if engine.rootless else f"{place.uid}:{place.gid}"


def _fits_a_line(value: str) -> bool:
    """As it is: some engines read quotes and continued lines as a shell does."""
    return "\n" not in value and "\r" not in value and not value.startswith(('"', "'")) and len(value) < _LONGEST_LINE


def _bind(mount: Mount) -> str:
    read_only = ",readonly" if mount.read_only else ""
    return f"type=bind,source={mount.source},target={mount.target}{read_only}"


def _colons(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"


def device_words(engine: Engine, devices: tuple[int, ...]) -> Iterator[str]:
    if not devices:
        return
    numbers = ",".join(str(number) for number in devices)
    if engine.gpus == CDI:
        yield from (word for number in devices for word in ("--device", f"nvidia.com/gpu={number}"))
    elif engine.gpus == GPUS:
        yield from ("--gpus", f'"device={numbers}"')  # the quotes keep the commas together
    elif engine.gpus == DRIVER:
        yield "--nv"
    elif engine.gpus == ROCM and engine.name == APPTAINER:
        yield "--rocm"
    elif engine.gpus == ROCM:
        yield from ("--device", "/dev/kfd", "--device", "/dev/dri")
        # Without root nobody gives out groups, but podman can leave the account in its own.
        groups = ("keep-groups",) if engine.rootless and engine.name == PODMAN else engine.groups
        yield from (word for group in groups for word in ("--group-add", str(group)))


def _limit_words(engine: Engine, content: Content) -> Iterator[str]:
    """Memory is a wall and CPU a weight, as for tasks without a container."""
    if not engine.limits or content.memory_bytes is None:
        return
    yield from ("--memory", f"{content.memory_bytes}b", "--memory-swap", f"{content.memory_bytes}b")
    if content.cpu_m is not None:
        yield from ("--cpu-shares", str(max(2, content.cpu_m * _SHARES_PER_CPU // 1000)))


def _apptainer_image(image: str) -> str:
    """A file or an address is itself; a plain name means what it means to the others."""
    is_file = PurePosixPath(image).is_absolute()
    return image if is_file or "://" in image else f"docker://{image}"
