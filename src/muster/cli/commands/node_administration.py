"""`muster node list`, `describe`, `cordon`, `uncordon`, `drain` and `reconnect`, for the operation of nodes."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muster.cli.bulk_actions import act_on_nodes
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import complete_clusters, complete_nodes, output_option
from muster.cli.tables.columns import node_status_columns
from muster.cli.tables.output import print_list

if TYPE_CHECKING:
    from muster.client.client import Client

_LOOK_EVERY_S = 1.0
_nodes = click.argument("names", metavar="NODE...", nargs=-1, required=True, shell_complete=complete_nodes)
_reason = click.option("--reason", default="", metavar="TEXT", help="The reason, which everybody can see.")


@click.command("list")
@click.option("--cluster", help="Only the nodes of this cluster.", shell_complete=complete_clusters)
@output_option()
def list_nodes(cluster: str | None, output: str) -> None:
    """List nodes with their states and alerts.

    Admins also see mistakes in cluster files, and what is in effect instead.

    \b
    Examples:
      muster node list
      muster node list --cluster lab -o wide
      muster node list -o json | jq -r '.items[] | select(.state == "Unreachable") | .name'
    """
    client = connect()
    nodes = client.nodes(cluster)
    print_list(nodes, node_status_columns(nodes), output)
    for problem in client.virtual_clusters().problems:
        say_warning(str(problem))


@click.command()
@click.argument("name", metavar="NODE", shell_complete=complete_nodes)
@output_option("table", "json", "yaml")
def describe(name: str, output: str) -> None:
    """Show everything about a node: GPUs, folders, alerts and its tasks.

    \b
    Examples:
      muster node describe gpu7
      muster node describe lab/gpu7 -o yaml
    """
    from muster.cli.node_description import describe_node

    describe_node(connect().node(name), output)


@click.command()
@_nodes
@_reason
@output_option("name", "json", "yaml", default="name")
def cordon(names: tuple[str, ...], reason: str, output: str) -> None:
    """Place no new tasks on nodes. Running tasks continue.

    A cordon lasts until `muster node uncordon`, even if the node or the server restarts.

    \b
    Examples:
      muster node cordon gpu7 --reason "a fan is loud"
      muster node cordon lab/gpu7 attic/gpu7
    """
    act_on_nodes(names, lambda client, name: client.cordon_node(name, reason), output)


@click.command()
@_nodes
@output_option("name", "json", "yaml", default="name")
def uncordon(names: tuple[str, ...], output: str) -> None:
    """Allow new tasks on nodes again, after a cordon or a drain.

    \b
    Example:
      muster node uncordon gpu7
    """
    act_on_nodes(names, lambda client, name: client.uncordon_node(name), output)


@click.command()
@_nodes
@_reason
@click.option(
    "--now", is_flag=True, help="Stop the jobs there. They return to the queue, which does not count as a retry."
)
@click.option("--wait", is_flag=True, help="Wait until no task runs there any more.")
@output_option("name", "json", "yaml", default="name")
def drain(names: tuple[str, ...], reason: str, now: bool, wait: bool, output: str) -> None:
    """Drain nodes: they get no new tasks, and running tasks continue to their end.

    With --now, the jobs there are stopped within their grace period and start again elsewhere, from their last
    checkpoint.

    \b
    Examples:
      muster node drain gpu7 --reason "new GPUs on Monday" --wait
      muster node drain gpu7 gpu8 --now
    """
    act_on_nodes(names, lambda client, name: client.drain_node(name, reason, now=now), output)
    if wait:
        _wait_until_empty(connect(), names)


@click.command()
@_nodes
@click.option(
    "--forget-host-key",
    is_flag=True,
    help="Accept the key that the host presents now. Use this only if you know why it changed.",
)
@output_option("name", "json", "yaml", default="name")
def reconnect(names: tuple[str, ...], forget_host_key: bool, output: str) -> None:
    """Close the connection to nodes and connect again at once, without waiting for the next retry. Tasks continue.

    \b
    Examples:
      muster node reconnect gpu7
      muster node reconnect gpu7 --forget-host-key
    """
    act_on_nodes(names, lambda client, name: client.reconnect_node(name, forget_host_key=forget_host_key), output)


def _wait_until_empty(client: "Client", names: Sequence[str]) -> None:
    left = dict.fromkeys(names, -1)
    while left:
        for name in list(left):
            tasks = client.node(name).tasks
            if tasks == 0:
                del left[name]
                say(f"node {name} is drained")
            elif tasks != left[name]:
                left[name] = tasks
                say(f"node {name} still has {tasks} task{'s' if tasks != 1 else ''}")
        if left:
            time.sleep(_LOOK_EVERY_S)
