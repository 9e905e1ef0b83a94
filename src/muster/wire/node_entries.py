"""A node that an admin adds by command: what the caller sends, and the entry of a cluster file that it becomes."""

from typing import Annotated, Any

from pydantic import Field

from muster.domain.clusters import HostKeys
from muster.domain.errors import Invalid, Problem
from muster.wire.physical_schema import split_endpoint
from muster.wire.requests import Request

Short = Annotated[str, Field(min_length=1, max_length=1024)]


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


def node_document(body: NodeAddIn) -> dict[str, Any]:
    """Returns the entry of the cluster file, without the password. Raises Invalid."""
    try:
        endpoint = split_endpoint(body.ssh)
    except ValueError as error:
        problem = Problem("ssh", f"{body.ssh!r} cannot be read", str(error))
        raise Invalid("the node cannot be added", problems=(problem,)) from None
    given = body.model_dump(mode="json", by_alias=True, exclude={"ssh", "password"}, exclude_defaults=True)
    return {"name": body.name, **endpoint, **given}
