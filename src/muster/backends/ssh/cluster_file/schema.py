"""SSH clusters and their nodes as admins write them."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from muster.backends.logins.cluster_file import Host, HostKey, LoginIn, split_endpoint
from muster.domain.errors import Problem
from muster.wire.physical_schema import (
    AGENT_PARTS,
    Devices,
    IsolatingIn,
    Labels,
    ListedNodeName,
    ServerFile,
    listed,
)
from muster.wire.spec_schema import Seconds, Strict, Text


def _node(value: Any) -> Any:
    """`gpu1` and `ubuntu@10.0.0.3:2222` are short for mappings with `host`."""
    return split_endpoint(value) if isinstance(value, str) else value


class SshNodeIn(LoginIn):
    """A machine of the cluster. What is absent comes from `defaults`."""

    name: ListedNodeName | None = Field(None, description="How Muster calls it; the host, if absent.")
    host: Host | None = Field(None, description="Name or address, as ssh takes it; the name, if absent.")
    host_key: HostKey | None = Field(None, description="Its key; no other is taken.")
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
