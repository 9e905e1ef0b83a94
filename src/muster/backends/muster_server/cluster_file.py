"""How a cluster that is another Muster server is written in cluster files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from muster.backends.muster_server.options import STORAGE, OtherServerOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.settings.cluster_kinds import ClusterKind
from muster.settings.private_files import read_secret
from muster.wire.physical_schema import SHARED_PARTS, ServerFile, SharedIn
from muster.wire.spec_schema import Text

NAME = "muster"


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected the address of a Muster server, such as https://gpu.example.org:8443")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("expected an address without a user, a password, a query and a fragment")
    return value.rstrip("/")


def _addresses(value: Any) -> Any:
    """One address is short for a list of one."""
    return [value] if isinstance(value, str) else value


class OtherServerIn(SharedIn):
    """A cluster of another Muster server."""

    server: Annotated[
        list[Annotated[str, AfterValidator(_address)]], BeforeValidator(_addresses), Field(min_length=1, max_length=16)
    ] = Field(description="The address of the other server, or several of one installation; one that answers is used.")
    token_file: ServerFile = Field(
        description="A file on this server with a token of the other one, of the scope `submit`. It is read anew when "
        "it changes."
    )
    cluster: Text = Field(description="The cluster there that jobs go to, virtual or physical.")
    ca_file: ServerFile | None = Field(
        None, description="The certificates that the other server's is checked against; those of the machine if absent."
    )
    head_start: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="How many of its largest nodes may be asked for beyond what is free, to wait in its queue."
    )


def _complete(cluster: PhysicalCluster, model: OtherServerIn) -> PhysicalCluster:
    options = OtherServerOptions(
        servers=tuple(model.server),
        token_file=Path(model.token_file).expanduser(),
        cluster=model.cluster,
        ca_file=None if model.ca_file is None else Path(model.ca_file).expanduser(),
        head_start=model.head_start,
    )
    return replace(cluster, other_storages=STORAGE, options=options)


def _problems(model: OtherServerIn) -> Iterator[Problem]:
    try:
        read_secret(Path(model.token_file).expanduser(), "token")
    except ValueError as error:
        yield Problem("tokenFile", str(error), "it is a file on this server")
    try:
        if model.ca_file is not None:
            Path(model.ca_file).expanduser().read_bytes()
    except OSError as error:
        yield Problem("caFile", f"{model.ca_file} cannot be read: {error.strerror}", "it is on this server")
    for key in ("folders", "storages", "conda"):
        if getattr(model, key):
            yield Problem(key, "is said by the other server", "leave it out: jobs mount its storages by their names")


OTHER_SERVER_CLUSTERS = ClusterKind(NAME, OtherServerIn, SHARED_PARTS, _complete, _problems)
