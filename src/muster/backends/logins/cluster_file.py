"""Logins as admins write them in cluster files."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from muster.backends.logins.options import HostKeys
from muster.wire.physical_schema import ServerFile, matching, plain
from muster.wire.spec_schema import Strict

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


Host = Annotated[str, AfterValidator(_host)]
User = Annotated[str, AfterValidator(_user)]
HostKey = Annotated[str, AfterValidator(_host_key)]
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
