"""Physical clusters as admins write them: what documents with `backend` have for every backend.

A backend's own schema extends `SharedIn`, and lies in the package of the backend.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from muster.domain.access import Access
from muster.domain.clusters import RESERVED, SetupCache
from muster.domain.isolation import FIRST_UID, LAST_UID, IsolationMode
from muster.domain.node_scripts import HealthCheck, TaskScript
from muster.domain.resources import TASKS_PER_NODE, DeviceFiles, Reserved
from muster.wire.cluster_problems import Parts
from muster.wire.spec_schema import NAME_PATTERN, Bytes, Cpu, Name, Resource, Seconds, StorageName, Strict, Text

_NAME = re.compile(NAME_PATTERN)
_NODE = re.compile(r"\w([\w.-]{0,251}\w)?")
NODE_NAME_ACCEPTED = "letters, digits, '.', '_' and '-', a letter or digit at both ends"


def is_node_name(text: str) -> bool:
    return _NODE.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a cluster or a folder may have this name."""
    return _NAME.fullmatch(text) is not None


def matching(pattern: re.Pattern[str], accepted: str) -> Callable[[str], str]:
    """A validator of text that has to match the whole pattern."""

    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"expected {accepted}")
        return value

    return check


def plain(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError("expected text on one line")
    return value


def listed(value: Any) -> Any:
    """One text alone is a list of one."""
    return [value] if isinstance(value, str) else value


def _absolute(value: str) -> str:
    if not plain(value).startswith("/") or ".." in value.split("/"):
        raise ValueError("expected an absolute path without ..")
    return value


def _inside(value: str) -> str:
    if ".." in plain(value).split("/"):
        raise ValueError("expected a path without ..")
    return value


def _label(value: str) -> str:
    if value.startswith(RESERVED):
        raise ValueError(f"expected another name: {RESERVED}… says what Muster found on a node")
    return value


def _folder(value: Any) -> Any:
    """A path alone is short for a mapping with `path`."""
    return {"path": value} if isinstance(value, str) else value


ListedNodeName = Annotated[str, AfterValidator(matching(_NODE, NODE_NAME_ACCEPTED))]
FolderName = Annotated[str, AfterValidator(matching(_NAME, f"{NODE_NAME_ACCEPTED}, at most 63"))]
AccountName = Annotated[
    str, AfterValidator(matching(re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,254}\$?"), "the name of an account"))
]
ServerFile = Annotated[str, AfterValidator(plain)]
"""The path of a file on the server."""
Labels = dict[Annotated[str, AfterValidator(_label)], Text]


class FolderIn(Strict):
    """A folder that people and jobs use by its name."""

    path: Annotated[str, AfterValidator(_absolute)] = Field(description="On the nodes, absolute.")
    shared: bool = Field(True, description="Every node sees the same files there.")
    read_only: bool = False
    users: list[str] = Field(default_factory=list, description="Who may use it; with groups absent too, everybody.")
    groups: list[str] = Field(default_factory=list, description="Groups whose members may use it.")


def _uids(value: Any) -> Any:
    """`70000-99999` is a range."""
    if isinstance(value, str) and (match := re.fullmatch(r"(\d{1,9})-(\d{1,9})", value)):
        return [int(match[1]), int(match[2])]
    return value


def _range(value: tuple[int, int]) -> tuple[int, int]:
    if not 1000 <= value[0] <= value[1]:
        raise ValueError("expected a range such as 70000-99999, not below 1000")
    return value


class ReservedIn(Strict):
    """What is kept on a node for the machine itself."""

    cpu: Cpu | None = Field(None, description="CPU cores, such as 2.")
    memory: Bytes | None = Field(None, description="Memory, such as 8Gi.")

    def reserved(self) -> Reserved:
        return Reserved(self.cpu or 0, self.memory or 0)


class AccessIn(Strict):
    """Who may use a cluster. If neither is given, everybody may; admins always may."""

    users: list[str] = Field(default_factory=list, description="Who may use it; with groups absent too, everybody.")
    groups: list[str] = Field(default_factory=list, description="Groups whose members may use it.")

    def access(self) -> Access:
        return Access(tuple(self.users), tuple(self.groups))


_DEVICE_FILE = re.compile(r"/dev(/(?!\.\.?(/|$))[A-Za-z0-9._@+-]+)+")


def _devices(value: Any) -> Any:
    """A file alone is a device with one file, and `/dev/xdma0` is short for a list of one device."""
    items = [value] if isinstance(value, str) else value
    return [[item] if isinstance(item, str) else item for item in items] if isinstance(items, list) else value


def _distinct(value: list[list[str]]) -> list[list[str]]:
    if len({frozenset(files) for files in value}) < len(value):
        raise ValueError("expected each device once")
    return value


DeviceFile = Annotated[
    str,
    AfterValidator(
        matching(
            _DEVICE_FILE, "the path of a device file, such as /dev/xdma0, of letters, digits, '.', '_', '@', '+', '-'"
        )
    ),
]
Devices = dict[
    Resource,
    Annotated[
        list[Annotated[list[DeviceFile], Field(min_length=1, max_length=64)]],
        BeforeValidator(_devices),
        AfterValidator(_distinct),
        Field(min_length=1, max_length=1024),
    ],
]
"""The files of the devices that a node has, by resource."""


def device_files(given: Devices) -> DeviceFiles:
    return {name: tuple(tuple(files) for files in devices) for name, devices in sorted(given.items())}


MaxTasks = Annotated[int, Field(ge=1, le=1 << 20)]


class SharedIn(Strict):
    """What clusters of every backend have."""

    name: Name | None = Field(None, description="What jobs write as `cluster`; the file's name if absent.")
    backend: str = Field(description="Which backend runs the cluster.")
    description: str = Field("", max_length=4096)
    folders: dict[FolderName, Annotated[FolderIn, BeforeValidator(_folder)]] = Field(
        default_factory=dict, description="Folders on the nodes by name; a path alone is short for {path: …}."
    )
    storages: dict[StorageName, Annotated[str, AfterValidator(_inside)]] = Field(
        default_factory=dict,
        description="Names under which jobs mount folders as a `storage`, each with a folder and perhaps a path in it.",
    )
    conda: Annotated[str, AfterValidator(_inside)] | None = Field(
        None, description="Where conda is installed on the nodes: a path, or one that begins with a folder's name."
    )
    access: AccessIn = Field(
        default_factory=AccessIn, description="Who may use the cluster: `users` and `groups`; everybody if absent."
    )
    reserved: ReservedIn = Field(
        default_factory=ReservedIn, description="What is kept on each node for the machine itself."
    )
    gpu_hour_price: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="What an hour of one GPU costs, in your currency; the history of jobs says what each cost."
    )


SHARED_PARTS: Parts = {"folders": FolderIn, "access": AccessIn, "reserved": ReservedIn}
"""The models under the keys that clusters of every backend have."""


def _program(value: list[str]) -> list[str]:
    if not value or not value[0] or value[0].startswith("-"):
        raise ValueError("expected a list of a program and its arguments; for pipes, [sh, -c, '...']")
    return value


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("expected more than 0")
    return value


def _answered(value: float) -> float:
    if value > LONGEST_CHECK_S:
        raise ValueError(f"expected at most {LONGEST_CHECK_S:g} s")
    return value


LONGEST_CHECK_S = 50.0
"""Agents answer within a minute."""
ProgramIn = Annotated[list[Text], AfterValidator(_program)]
Positive = Annotated[Seconds, AfterValidator(_positive)]


class HealthCheckIn(Strict):
    """A program that fails, by its exit code, on a node that does not work."""

    name: Name = Field(description="How alerts call it.")
    command: ProgramIn = Field(description="The program and its arguments, without a shell.")
    every: Positive = Field(300.0, description="How often it runs on each node.")
    timeout: Annotated[Positive, AfterValidator(_answered)] = Field(30.0, description="It fails if it takes longer.")

    def check(self) -> HealthCheck:
        return HealthCheck(self.name, tuple(self.command), self.every, self.timeout)


class TaskScriptIn(Strict):
    """A program that runs before or after each task."""

    command: ProgramIn = Field(description="The program and its arguments, without a shell.")
    timeout: Positive = Field(60.0, description="It fails if it takes longer.")

    def script(self) -> TaskScript:
        return TaskScript(tuple(self.command), self.timeout)


class SetupCacheIn(Strict):
    """How much each node keeps of what the setups of jobs have prepared."""

    size: Bytes = Field(SetupCache().most_bytes, description="All together; a fifth of the disk at most.")
    unused: Positive = Field(SetupCache().unused_s, description="How long one stays that no task uses.")

    def cache(self) -> SetupCache:
        return SetupCache(self.size, self.unused)


AGENT_PARTS: Parts = {
    "healthChecks": HealthCheckIn,
    "prolog": TaskScriptIn,
    "epilog": TaskScriptIn,
    "setupCache": SetupCacheIn,
}
"""The models under the keys that clusters have whose nodes run an agent of Muster."""


class IsolatingIn(SharedIn):
    """What clusters have whose nodes run an agent of Muster."""

    isolation: IsolationMode | None = Field(
        None, description="How tasks of different users are kept apart; as well as each node can, if absent."
    )
    accounts: dict[str, AccountName] = Field(
        default_factory=dict, description="The Unix accounts of users, where the names differ."
    )
    uids: Annotated[tuple[int, int], BeforeValidator(_uids), AfterValidator(_range)] = Field(
        (FIRST_UID, LAST_UID), description="The numbers for users without a Unix account: 70000-99999."
    )
    max_tasks: MaxTasks | None = Field(
        None, description=f"Tasks that run on each node at the same time; {TASKS_PER_NODE} if absent."
    )
    trust_users: bool = Field(False, description="Users may run jobs here even if tasks are not kept apart.")
    image: str | None = Field(None, description="With `isolation: container`: the image for jobs without one.")
    health_checks: list[HealthCheckIn] = Field(
        default_factory=list, description="Programs that run on each node; one that fails one gets no new tasks."
    )
    devices: Devices = Field(
        default_factory=dict,
        description="The devices other than GPUs that each node has, by resource, each by its file or a list of files.",
    )
    setup_cache: SetupCacheIn = Field(
        default_factory=SetupCacheIn, description="How much is kept of what setups have prepared: `size`, `unused`."
    )
    prolog: TaskScriptIn | None = Field(None, description="A program that runs on the node before each task.")
    epilog: TaskScriptIn | None = Field(None, description="A program that runs on the node after each task.")
