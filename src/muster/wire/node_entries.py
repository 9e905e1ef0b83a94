"""A node that an admin adds by command, as the API takes it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from muster.wire.requests import Request

Short = Annotated[str, Field(min_length=1, max_length=1024)]


class HostKeys(StrEnum):
    """How a host proves that it is itself, where its key is not written in the cluster file."""

    KNOWN = "known"
    FIRST_USE = "first-use"


class NodeAddIn(Request):
    """A machine that the server reaches by SSH. What is absent comes from the cluster's defaults."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    ssh: Short = Field(description="[user@]host[:port].")
    key_file: Short | None = Field(None, description="A private key on the server, readable for its account alone.")
    password: Annotated[str, Field(min_length=1, max_length=1024)] | None = Field(
        None, description="Kept in a file that only the server's account may read, and never shown."
    )
    jump: Short | None = Field(None, description="[user@]host[:port] to pass through; several with commas.")
    host_keys: HostKeys | None = Field(None, description="`first-use` takes the key that the host shows first.")
    host_key: Short | None = Field(None, description="Its key; no other is taken.")
    address: Short | None = Field(None, description="Its address for other nodes of a job.")
    interface: Short | None = Field(None, description="The network interface that jobs talk over.")
    python: Short | None = None
    root: Short | None = Field(None, description="Where the node keeps tasks.")
    labels: dict[str, Annotated[str, Field(max_length=1024)]] = Field(default_factory=dict, max_length=100)


def node_request(body: NodeAddIn) -> dict[str, Any]:
    """Returns what was given, without the password."""
    return body.model_dump(mode="json", by_alias=True, exclude={"password"}, exclude_defaults=True)
