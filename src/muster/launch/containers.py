"""Builds the command line that runs a task in a container with podman, docker or apptainer.

The task's folder has the same path inside and outside the container, so that every path in it is valid in both.
Variables may be secrets, so they are never passed as arguments, which everybody on the node can read. They are never
in the environment of an engine's client either, which has the rights of the agent and would heed some of them. Podman
and docker read them from a file; those that do not fit on a line of it are set by a shell in the container. Apptainer
takes all of them from its environment, under other names.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from muster.domain.errors import Invalid
from muster.domain.launch_requests import HostName, RootFiles
from muster.domain.specs import IMAGE_WORKDIR, Mount
from muster.launch.container_script import ContainerRun, command_of, script_of
from muster.launch.registry_credentials import login_for
from muster.launch.ssh_script import FOLDER as SSH_FOLDER

PODMAN, DOCKER, APPTAINER = "podman", "docker", "apptainer"
ENV_FILE = "container.env"
VARIABLES_FILE = "variables.sh"
"""Sets the variables that do not fit on a line of the other file."""
REPORT_FILES = ("checkpoint", "tracking-url", "metrics")
REGISTRY_FOLDER = "registry"
"""The folder of the file with the credentials for the registry, until the image is there."""
ACCOUNTS_FILE = "container.accounts"
STATE_FILE = "container.state"
"""After a failure, this file says whether the container was killed because it ran out of memory: `true` or `false`."""

# How an engine passes GPUs to a container.
CDI = "cdi"
"""`--device nvidia.com/gpu=N`: the engine reads CDI files that describe the GPUs."""
GPUS = "gpus"
"""Docker's `--gpus`."""
HOOK = "hook"
"""NVIDIA's hook reads NVIDIA_VISIBLE_DEVICES, which every task has anyway."""
DRIVER = "driver"
"""Apptainer's `--nv`: the container has all GPUs, and CUDA_VISIBLE_DEVICES selects among them."""
ROCM = "rocm"
PRETENDED = "pretended"
"""Fake GPUs, for tests."""

_NO_DETACHING = "ctrl-^,ctrl-_,ctrl-^,ctrl-@,ctrl-_,ctrl-^"
"""Nobody types this. Otherwise the engine's own keys would end the task, which is the client, and not the container."""
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = (
    rf"(?:{_DOMAIN}/)?({_PART}(?:/{_PART})*)(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)
_TRANSPORTS = frozenset(
    (
        *("atomic", "containers-storage", "dir", "docker", "docker-archive", "docker-daemon"),
        *("oci", "oci-archive", "ostree", "sif", "tarball"),
    )
)
"""Words before a colon by which podman means a file or another store, which it would open with the agent's rights."""
_APPTAINER_SCHEMES = ("docker", "oras", "library", "shub")
_LONGEST_NAME = 255
_ROOT = "0:0"
_TRIAL_ACCOUNT = "65534:65534"
_LONGEST_LINE = 32_000
"""Container engines read lines of up to 64 KiB."""
_SHARES_PER_CPU = 1024


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine as the agent of a node found it."""

    name: str
    program: str
    rootless: bool = False
    init: bool = True
    """Whether it has an init process, which forwards signals and reaps orphans."""
    limits: bool = True
    """Whether it can enforce a memory limit."""
    gpus: str = ""
    """How it passes GPUs to a container; empty if it cannot."""
    groups: tuple[int, ...] = ()
    """The groups that own AMD's device files; only their members may open them."""

    @property
    def renumbers(self) -> bool:
        """Whether a container sees only the task's own GPUs, numbered from 0."""
        return self.gpus in (CDI, GPUS, HOOK)


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """The task's folder on its node, and the account of the agent."""

    folder: str
    uid: int
    gid: int

    @property
    def work(self) -> str:
        return f"{self.folder}/work"


@dataclass(frozen=True, slots=True)
class ContainerTask:
    """What runs in the container."""

    task_id: str
    image: str
    argv: tuple[str, ...]
    """Empty if the image's own entry point is to run."""
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    """The mounts, with absolute paths as source and target."""
    devices: tuple[int, ...] = ()
    device_files: tuple[str, ...] = ()
    """The files of its devices other than GPUs."""
    memory_bytes: int | None = None
    cpu_m: int | None = None
    private_shm_bytes: int | None = None
    """The size of a /dev/shm of its own, for the task of a user who must not reach what others have. Such a task has
    its own IPC namespace, too, gains no rights from the image, and writes to its own files only."""
    args: tuple[str, ...] = ()
    """The arguments of the image's own entry point. Empty if they are the image's own, too."""
    workdir: str | None = None
    """Where it starts: IMAGE_WORKDIR or an absolute path in the container. None: in the task's working directory."""
    stdin: bool = False
    tty: bool = False
    registry: bytes | None = field(default=None, repr=False)
    """The config.json with the credentials for the registry of the image."""
    root_files: RootFiles = field(default_factory=RootFiles)
    ssh_hosts: tuple[HostName, ...] | None = None
    """The names that it resolves. None if it has no SSH server."""


@dataclass(frozen=True, slots=True)
class ContainerLaunch:
    """What the agent starts: the client of the container engine, its variables, and the files that it reads."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """The name of the container, if the engine keeps a container that may have to be removed."""
    command: tuple[str, ...] = ()
    """The command of the engine's client alone, as a person would type it."""
    registry: bytes | None = field(default=None, repr=False)
    """What the agent writes to the file with the credentials for the registry."""


def is_reference(name: str) -> bool:
    """Whether the name is that of an image in a registry or in the engine's own store, and nothing else."""
    found = re.fullmatch(_REFERENCE, name)
    return found is not None and len(name) <= _LONGEST_NAME and name.partition(":")[0] not in _TRANSPORTS


def is_image(name: str) -> bool:
    """Whether it names an image for some engine. Apptainer takes files and registries by address, too."""
    is_file = re.fullmatch(r"/[^\s,:]+\.sif", name) is not None and ".." not in name.split("/")
    scheme, _, rest = name.partition("://")
    return is_reference(name) or is_file or (scheme in _APPTAINER_SCHEMES and is_reference(rest))


def container_launch(engine: Engine, content: ContainerTask, place: TaskFolder) -> ContainerLaunch:
    is_fit = is_image if engine.name == APPTAINER else is_reference
    if not is_fit(content.image):
        raise Invalid(f"runtime.image: {content.image!r} is not the name of an image for {engine.name}")
    return _apptainer(engine, content, place) if engine.name == APPTAINER else _podman(engine, content, place)


def trial_account(engine: Engine) -> tuple[str, ...]:
    """The options by which a container in which somebody tries an image does not run as root."""
    return () if engine.rootless or engine.name == APPTAINER else ("--user", _TRIAL_ACCOUNT)


def container_name(task_id: str) -> str:
    return f"muster.{task_id}"


def _podman(engine: Engine, content: ContainerTask, place: TaskFolder) -> ContainerLaunch:
    """Docker accepts the same arguments."""
    env = _environment(engine, content, place)
    lines = {name: value for name, value in sorted(env.items()) if _fits_a_line(value)}
    others = {name: value for name, value in sorted(env.items()) if name not in lines}
    if others and not content.argv:
        name = next(iter(others))
        raise Invalid(f"env.{name}: the entry point of an image cannot get a value like this", hint="give it a command")
    script = f"{place.folder}/{VARIABLES_FILE}"
    options = (
        *(("--init",) if engine.init else ()),
        *(("--interactive",) if content.stdin else ()),
        *(("--tty", "--detach-keys", _NO_DETACHING) if content.tty else ()),
        *("--network", "host"),
        *(word for one in content.ssh_hosts or () for word in ("--add-host", f"{one.name}:{one.address}")),
        *_memory_arguments(content),
        *("--log-driver", "none"),  # the output of the client is the task's log
        *("--security-opt", "label=disable"),  # otherwise SELinux would hide the folders of the node
        *_rights_arguments(engine, content),
        *("--user", _user(engine, place)),
        *_workdir_arguments("--workdir", content, place),
        *("--env-file", f"{place.folder}/{ENV_FILE}"),
        *(word for mount in _mounts(engine, content, place) for word in ("--mount", _bind(mount))),
        *device_arguments(engine, content.devices),
        *(word for path in content.device_files for word in ("--device", path)),
        *_limit_arguments(engine, content),
    )
    run = ContainerRun(
        engine.program,
        container_name(content.task_id),
        f"{place.folder}/{STATE_FILE}",
        options,
        content.image,
        content.argv or content.args,
        bool(content.argv),
        script if others else "",
        content.tty,
        "" if content.registry is None else f"{place.folder}/{REGISTRY_FOLDER}",
        _passwd(engine, content, place) or ("", ""),
    )
    files = dict.fromkeys(_written_at_root(engine, content, place), "")
    files[ENV_FILE] = "".join(f"{variable}={value}\n" for variable, value in lines.items())
    if others:
        files[VARIABLES_FILE] = "".join(f"export {one}={shlex.quote(value)}\n" for one, value in others.items())
    return ContainerLaunch(script_of(run), {}, files, run.name, command_of(run), content.registry)


def _apptainer(engine: Engine, content: ContainerTask, place: TaskFolder) -> ContainerLaunch:
    argv = (
        engine.program,
        "exec" if content.argv else "run",
        "--cleanenv",
        *(() if content.private_shm_bytes is None else ("--containall",)),  # else it shares processes, /tmp and /dev
        *("--home", place.work),
        *_workdir_arguments("--pwd", content, place),
        *(word for mount in _mounts(engine, content, place) for word in ("--bind", _colons(mount))),
        *device_arguments(engine, content.devices),
        *(word for path in content.device_files for word in ("--bind", path)),
        _apptainer_image(content.image),
        *(content.argv or content.args),
    )
    env = _environment(engine, content, place)
    env.pop("HOME", None)  # passed as --home, because apptainer refuses the variable
    inside = {f"APPTAINERENV_{name}": value for name, value in sorted(env.items())}
    inside |= _apptainer_login(content)
    # Otherwise a shell in the container would evaluate the values. Versions before 1.1 refuse the option.
    files = dict.fromkeys(_written_at_root(engine, content, place), "")
    return ContainerLaunch(argv, {**inside, "APPTAINER_NO_EVAL": "true"}, files, command=argv)


def _mounts(engine: Engine, content: ContainerTask, place: TaskFolder) -> tuple[Mount, ...]:
    read = (Mount(f"{place.folder}/{name}", f"/{name}", read_only=True) for name in content.root_files.read)
    written = (Mount(f"{place.folder}/{name}", f"/{name}") for name in _written_at_root(engine, content, place))
    passwd = _passwd(engine, content, place)
    known = () if passwd is None else (Mount(passwd[0], "/etc/passwd", read_only=True),)
    return (*_own_mounts(content, place), *read, *written, *known, *content.mounts)


def _passwd(engine: Engine, content: ContainerTask, place: TaskFolder) -> tuple[str, str] | None:
    """OpenSSH works for accounts that the image knows, and the number of the task's account is not among them."""
    if content.ssh_hosts is None or engine.name == APPTAINER or _user(engine, place).startswith("0:"):
        return None
    entry = f"muster-{place.uid}:x:{place.uid}:{place.gid}::{place.work}:/bin/sh"
    return f"{place.folder}/{ACCOUNTS_FILE}", entry


def _written_at_root(engine: Engine, content: ContainerTask, place: TaskFolder) -> tuple[str, ...]:
    """The files that the task can write at the root only if they are mounted there. Root may write there anyway, unless
    the image cannot be written at all, as with apptainer."""
    is_writable = engine.name != APPTAINER and _user(engine, place).startswith("0:")
    return content.root_files.written if content.root_files.covers_image and not is_writable else ()


def _apptainer_login(content: ContainerTask) -> dict[str, str]:
    """Not all versions read a file with credentials. The variables stay outside of the container."""
    login = None if content.registry is None else login_for(content.image, content.registry)
    return {} if login is None else {"APPTAINER_DOCKER_USERNAME": login[0], "APPTAINER_DOCKER_PASSWORD": login[1]}


def _workdir_arguments(option: str, content: ContainerTask, place: TaskFolder) -> tuple[str, ...]:
    return () if content.workdir == IMAGE_WORKDIR else (option, content.workdir or place.work)


def _own_mounts(content: ContainerTask, place: TaskFolder) -> tuple[Mount, ...]:
    """The task's folder has the agent's records, too, which the task of another user must not forge."""
    if content.private_shm_bytes is None:
        return (Mount(place.folder, place.folder),)
    reports = [f"{place.folder}/{name}" for name in REPORT_FILES]
    own = [Mount(path, path) for path in (place.work, *reports)]
    if content.ssh_hosts is not None:
        own.append(Mount(f"{place.folder}/{SSH_FOLDER}", f"{place.folder}/{SSH_FOLDER}"))
    return (Mount(place.folder, place.folder, read_only=True), *own)


def _memory_arguments(content: ContainerTask) -> tuple[str, ...]:
    """Data loaders and NCCL need far more of /dev/shm than a container has by default."""
    if content.private_shm_bytes is None:
        return "--ipc", "host"
    return "--ipc", "private", "--shm-size", f"{content.private_shm_bytes}b"


def _rights_arguments(engine: Engine, content: ContainerTask) -> tuple[str, ...]:
    """Without a rootless engine, the image could gain root rights."""
    is_needed = not engine.rootless or content.private_shm_bytes is not None
    return ("--security-opt", "no-new-privileges") if is_needed else ()


def _environment(engine: Engine, content: ContainerTask, place: TaskFolder) -> dict[str, str]:
    # A job that starts where its image says expects the home folder there, too, if the container runs as root. Another
    # account may not be known in the image, or not allowed to write there.
    is_images_home = content.workdir is not None and _user(engine, place) == _ROOT
    env = {**({} if is_images_home else {"HOME": place.work}), **content.env}
    if content.devices and engine.renumbers:
        env["CUDA_VISIBLE_DEVICES"] = ",".join(str(number) for number in range(len(content.devices)))
    # The agent identifies the task's processes by these variables, whatever started them.
    return {**env, "MUSTER_TASK_UID": content.task_id, "MUSTER_TASK_DIR": place.folder}


def _user(engine: Engine, place: TaskFolder) -> str:
    """The user inside, chosen so that the task's files belong to the agent's account outside. In a rootless engine,
    root inside is that account."""
    return _ROOT if engine.rootless else f"{place.uid}:{place.gid}"


def _fits_a_line(value: str) -> bool:
    """Whether the value can be written to the file unchanged. Some engines interpret quotes and continued lines."""
    return "\n" not in value and "\r" not in value and not value.startswith(('"', "'")) and len(value) < _LONGEST_LINE


def _bind(mount: Mount) -> str:
    read_only = ",readonly" if mount.read_only else ""
    return f"type=bind,source={mount.source},target={mount.target}{read_only}"


def _colons(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"


def device_arguments(engine: Engine, devices: tuple[int, ...]) -> Iterator[str]:
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
        # A rootless engine cannot add groups, but podman can keep those of the account.
        groups = ("keep-groups",) if engine.rootless and engine.name == PODMAN else engine.groups
        yield from (word for group in groups for word in ("--group-add", str(group)))


def _limit_arguments(engine: Engine, content: ContainerTask) -> Iterator[str]:
    """Memory is a hard limit and CPU a weight, as for tasks without a container."""
    if not engine.limits or content.memory_bytes is None:
        return
    yield from ("--memory", f"{content.memory_bytes}b", "--memory-swap", f"{content.memory_bytes}b")
    if content.cpu_m is not None:
        yield from ("--cpu-shares", str(max(2, content.cpu_m * _SHARES_PER_CPU // 1000)))


def _apptainer_image(image: str) -> str:
    """A file or a URL stays as it is; a plain name means a registry image, as it does for the other engines."""
    is_file = PurePosixPath(image).is_absolute()
    return image if is_file or "://" in image else f"docker://{image}"
