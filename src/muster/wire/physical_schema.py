"""Physical clusters as admins write them: documents with `backend`, and nodes of such clusters."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from muster.domain.clusters import RESERVED, HostKeys
from muster.wire.spec_schema import NAME_PATTERN, Name, Seconds, Strict, Text

_HOST = re.compile(r"(?![^:]*:[^:]*$)[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+\\-]{0,254}\$?")
_NAME = re.compile(NAME_PATTERN)
_NODE = re.compile(r"\w([\w.-]{0,251}\w)?")
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@-]{0,14}")
_HOST_KEY = re.compile(r"((?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]{16,}={0,2})( .*)?")
_ENDPOINT = re.compile(
    r"(?:(?P<user>[^@\s]+(?:@[^@\s]+)?)@)?(?:\[(?P<six>[^\]\s]+)\]|(?P<host>[^:@\s]+))(?::(?P<port>\d{1,5}))?"
)
ENDPOINT_ACCEPTED = "[user@]host[:port]"
HOST_ACCEPTED = "a host name or an address, without user and port"
NODE_NAME_ACCEPTED = "letters, digits, '.', '_' and '-', a letter or digit at both ends"


def split_endpoint(text: str) -> dict[str, Any]:
    """The host, user and port of `[user@]host[:port]`. Raises ValueError. A bare IPv6 address is a host."""
    if text.count(":") > 1 and "[" not in text and "@" not in text:
        return {"host": _host(text)}
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise ValueError(f"expected {ENDPOINT_ACCEPTED}")
    found: dict[str, Any] = {"host": _host(match["six"] or match["host"])}
    if match["user"]:
        found["user"] = _matching(_USER, "the name of an account")(match["user"])
    if match["port"]:
        found["port"] = int(match["port"])
    return found


def is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def is_node_name(text: str) -> bool:
    return _NODE.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Of a cluster or a folder."""
    return _NAME.fullmatch(text) is not None


def _matching(pattern: re.Pattern[str], accepted: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"expected {accepted}")
        return value

    return check


_host = _matching(_HOST, HOST_ACCEPTED)


def _jumps(value: str) -> str:
    hops = [hop.strip() for hop in value.split(",")]
    for hop in hops:
        if not 1 <= split_endpoint(hop).get("port", 22) <= 65535:
            raise ValueError("expected ports between 1 and 65535")
    return ",".join(hops)


def _host_key(value: str) -> str:
    match = _HOST_KEY.fullmatch(value.strip())
    if match is None:
        raise ValueError("expected a key as `ssh-keyscan HOST` prints it, without the host: ssh-ed25519 AAAA…")
    return match[1]


def _plain(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError("expected text on one line")
    return value


def _absolute(value: str) -> str:
    if not _plain(value).startswith("/") or ".." in value.split("/"):
        raise ValueError("expected an absolute path without ..")
    return value


def _node_root(value: str) -> str:
    inside = _plain(value).removeprefix("~/")
    if not inside or inside.startswith("~") or ".." in inside.split("/"):
        raise ValueError("expected an absolute path, or one in the account's home")
    return inside


def _inside(value: str) -> str:
    if ".." in _plain(value).split("/"):
        raise ValueError("expected a path without ..")
    return value


def _label(value: str) -> str:
    if value.startswith(RESERVED):
        raise ValueError(f"expected another name: {RESERVED}… says what Muster found on a node")
    return value


def listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _member(value: Any) -> Any:
    """`gpu1` and `ubuntu@10.0.0.3:2222` are short for mappings with `host`."""
    return split_endpoint(value) if isinstance(value, str) else value


def _folder(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


Host = Annotated[str, AfterValidator(_host)]
User = Annotated[str, AfterValidator(_matching(_USER, "the name of an account"))]
Port = Annotated[int, Field(ge=1, le=65535)]
Interface = Annotated[str, AfterValidator(_matching(_INTERFACE, "a network interface such as ib0"))]
MemberName = Annotated[str, AfterValidator(_matching(_NODE, NODE_NAME_ACCEPTED))]
FolderName = Annotated[str, AfterValidator(_matching(_NAME, f"{NODE_NAME_ACCEPTED}, at most 63"))]
ServerFile = Annotated[str, AfterValidator(_plain)]
Labels = dict[Annotated[str, AfterValidator(_label)], Text]


class LoginIn(Strict):
    """How machines are reached, and what is used on them."""

    user: User | None = Field(None, description="The account. `~/.ssh/config` says, if absent.")
    port: Port | None = Field(None, description="Of sshd.")
    key_file: ServerFile | None = Field(None, description="A private key on the server.")
    password_file: ServerFile | None = Field(None, description="A file on the server whose first line is the password.")
    jump: Annotated[str, AfterValidator(_jumps)] | None = Field(
        None, description="[user@]host[:port] to pass through; several with commas."
    )
    host_keys: HostKeys = Field(HostKeys.KNOWN, description="How a host proves that it is itself.")
    interface: Interface | None = Field(None, description="The network interface that jobs talk over.")
    python: Annotated[str, AfterValidator(_plain)] = Field("python3", description="Python 3.8 or newer, on the node.")
    root: Annotated[str, AfterValidator(_node_root)] = Field(
        ".muster-node", description="Where the node keeps tasks; of a relative one, in the account's home."
    )


class MemberIn(LoginIn):
    """A machine of the cluster. What is absent comes from `defaults`."""

    name: MemberName | None = Field(None, description="How Muster calls it; the host, if absent.")
    host: Host | None = Field(None, description="Name or address, as ssh takes it; the name, if absent.")
    host_key: Annotated[str, AfterValidator(_host_key)] | None = Field(None, description="Its key; no other is taken.")
    address: Host | None = Field(None, description="Its address for other nodes of a job.")
    labels: Labels = Field(default_factory=dict, description="What jobs ask for by `where`.")
    gpus: Annotated[int, Field(ge=0, le=1024)] | None = Field(None, description="How many it should have.")
    gpu_models: Annotated[list[Text], BeforeValidator(listed)] = Field(
        default_factory=list, description="Which it should have."
    )


class FolderIn(Strict):
    """A folder that people and jobs use by its name."""

    path: Annotated[str, AfterValidator(_absolute)] = Field(description="On the nodes, absolute.")
    shared: bool = Field(True, description="Every node sees the same files there.")
    read_only: bool = False
    users: list[str] = Field(default_factory=list, description="Who may use it; with groups absent too, everybody.")
    groups: list[str] = Field(default_factory=list, description="Groups whose members may use it.")


class SharedIn(Strict):
    """What clusters of every backend have."""

    name: Name | None = Field(None, description="What jobs write as `cluster`; the file's name if absent.")
    backend: Literal["ssh", "local"]
    description: str = Field("", max_length=4096)
    folders: dict[FolderName, Annotated[FolderIn, BeforeValidator(_folder)]] = Field(
        default_factory=dict, description="Folders on the nodes by name; a path alone is short for {path: …}."
    )
    conda: Annotated[str, AfterValidator(_inside)] | None = Field(
        None, description="Where conda is installed on the nodes: a path, or one that begins with a folder's name."
    )


class LocalIn(SharedIn):
    """The server's own machine."""


class SshIn(SharedIn):
    """Machines that the server reaches by SSH."""

    defaults: LoginIn = Field(default_factory=LoginIn, description="Of every node; a node may say otherwise.")
    nodes: list[Annotated[MemberIn, BeforeValidator(_member)]] = Field(default_factory=list)
    nodes_file: ServerFile | None = Field(None, description="A list of nodes as gpu_slaver_info.json has it.")
    unreachable_after: Seconds = Field(10.0, description="After so much silence a node gets no new tasks.")
    lost_after: Seconds = Field(60.0, description="After so long unreachable, its tasks are taken for lost.")


class MembersIn(Strict):
    """Nodes that belong to an SSH cluster besides those of its own document, or labels of those."""

    cluster: str | None = None
    nodes: list[Annotated[MemberIn, BeforeValidator(_member)]]


PARTS: dict[str, type[BaseModel]] = {"defaults": LoginIn, "nodes": MemberIn, "folders": FolderIn}
