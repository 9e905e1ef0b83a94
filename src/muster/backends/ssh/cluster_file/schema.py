"""SSH clusters and their nodes as admins write them."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from muster.backends.ssh.options import HostKeys
from muster.domain.errors import Problem
from muster.wire.physical_schema import (
    AGENT_PARTS,
    Devices,
    IsolatingIn,
    Labels,
    ListedNodeName,
    ServerFile,
    listed,
    matching,
    plain,
)
from muster.wire.spec_schema import Seconds, Strict, Text

_HOST = re.compile(r"(?![^:]*:[^:]*$)[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+\\-]{0,254}\$?")
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@-]{0,14}")
_HOST_KEY = re.compile(r"((?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]{16,}={0,2})( .*)?")
_ENDPOINT = re.compile(
    r"(?:(?P<user>[^@\s]+(?:@[^@\s]+)?)@)?(?:\[(?P<six>[^\]\s]+)\]|(?P<host>[^:@\s]+))(?::(?P<port>\d{1,5}))?"
)
_host = matching(_HOST, "a host name or an address, without user and port")
_user = matching(_USER, "the name of an account")


def split_endpoint(text: str) -> dict[str, Any]:
    """The host, user and port of `[user@]host[:port]`. Raises ValueError. A bare IPv6 address is a host."""
    if text.count(":") > 1 and "[" not in text and "@" not in text:
        return {"host": _host(text)}
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise ValueError("expected [user@]host[:port]")
    found: dict[str, Any] = {"host": _host(match["six"] or match["host"])}
    if match["user"]:
        found["user"] = _user(match["user"])
    if match["port"]:
        found["port"] = int(match["port"])
    return found


def is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


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


def _node_root(value: str) -> str:
    inside = plain(value).removeprefix("~/")
    if not inside or inside.startswith("~") or ".." in inside.split("/"):
        raise ValueError("expected an absolute path, or one in the account's home")
    return inside


def _node(value: Any) -> Any:
    """`gpu1` and `ubuntu@10.0.0.3:2222` are short for mappings with `host`."""
    return split_endpoint(value) if isinstance(value, str) else value


Host = Annotated[str, AfterValidator(_host)]
User = Annotated[str, AfterValidator(_user)]
Port = Annotated[int, Field(ge=1, le=65535)]
Interface = Annotated[str, AfterValidator(matching(_INTERFACE, "a network interface such as ib0"))]


class LoginIn(Strict):
    """How machines are reached, and what is used on them."""

    user: User | None = Field(None, description="The account. `~/.ssh/config` says, if absent.")
    port: Port | None = Field(None, description="The port of sshd.")
    key_file: ServerFile | None = Field(None, description="A private key on the server.")
    password_file: ServerFile | None = Field(None, description="A file on the server whose first line is the password.")
    jump: Annotated[str, AfterValidator(_jumps)] | None = Field(
        None, description="[user@]host[:port] to pass through; several with commas."
    )
    host_keys: HostKeys = Field(HostKeys.KNOWN, description="How a host proves that it is itself.")
    interface: Interface | None = Field(None, description="The network interface that jobs talk over.")
    python: Annotated[str, AfterValidator(plain)] = Field("python3", description="Python 3.8 or newer, on the node.")
    root: Annotated[str, AfterValidator(_node_root)] = Field(
        ".muster-node", description="Where the node keeps tasks; a relative path is in the account's home."
    )


class SshNodeIn(LoginIn):
    """A machine of the cluster. What is absent comes from `defaults`."""

    name: ListedNodeName | None = Field(None, description="How Muster calls it; the host, if absent.")
    host: Host | None = Field(None, description="Name or address, as ssh takes it; the name, if absent.")
    host_key: Annotated[str, AfterValidator(_host_key)] | None = Field(None, description="Its key; no other is taken.")
    address: Host | None = Field(None, description="Its address for other nodes of a job.")
    labels: Labels = Field(default_factory=dict, description="What jobs ask for by `where`.")
    gpus: Annotated[int, Field(ge=0, le=1024)] | None = Field(None, description="How many it should have.")
    gpu_models: Annotated[list[Text], BeforeValidator(listed)] = Field(
        default_factory=list, description="Which it should have."
    )
    devices: Devices | None = Field(
        None, description="Its devices other than GPUs, by resource; those of the cluster, if absent."
    )


class SshIn(IsolatingIn):
    """Machines that the server reaches by SSH."""

    defaults: LoginIn = Field(default_factory=LoginIn, description="For every node; a node may say otherwise.")
    nodes: list[Annotated[SshNodeIn, BeforeValidator(_node)]] = Field(default_factory=list)
    nodes_file: ServerFile | None = Field(None, description="A list of nodes as gpu_slaver_info.json has it.")
    unreachable_after: Seconds = Field(10.0, description="After so much silence a node gets no new tasks.")
    lost_after: Seconds = Field(60.0, description="After so long unreachable, its tasks are taken for lost.")


class SshNodesIn(Strict):
    """Nodes that belong to an SSH cluster besides those of its own document, or labels of those."""

    cluster: str | None = None
    nodes: list[Annotated[SshNodeIn, BeforeValidator(_node)]]


PARTS: dict[str, type[BaseModel]] = {
    "defaults": LoginIn,
    "nodes": SshNodeIn,
    **AGENT_PARTS,
}


def time_problems(model: SshIn) -> Iterator[Problem]:
    if model.unreachable_after <= 0:
        yield Problem("unreachableAfter", "must be more than 0", "a node is silent between any two heartbeats")
    if model.lost_after < model.unreachable_after:
        yield Problem("lostAfter", "is less than unreachableAfter", "a node is unreachable before its tasks are lost")
