"""`muster node list`, `describe`, `cordon`, `uncordon`, `drain` and `reconnect`."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muster.cli.batch import act_on_nodes
from muster.cli.columns import node_life_columns
from muster.cli.options import complete_nodes, output_option
from muster.cli.output import print_list
from muster.cli.session import connect, say, say_warning

if TYPE_CHECKING:
    from muster.client.client import Client

_LOOK_EVERY_S = 1.0
_nodes = click.argument("names", metavar="NODE...", nargs=-1, required=True, shell_complete=complete_nodes)
_reason = click.option("--reason", default="", metavar="TEXT", help="Why, for everybody to see.")


@click.command("list")
@click.option("--cluster", help="Only the nodes of this one.")
@output_option()
def list_nodes(cluster: str | None, output: str) -> None:
    """List nodes: how they are, since when, and what an admin should look at.

    Admins are also told what is wrong with cluster files, and what is in force instead.

    \b
    Examples:
      muster node list
      muster node list --cluster lab -o wide
      muster node list -o json | jq -r '.items[] | select(.state == "Unreachable") | .name'
    """
    client = connect()
    print_list(client.nodes(cluster), node_life_columns(), output)
    for problem in client.virtual_clusters().problems:
        say_warning(str(problem))


@click.command()
@click.argument("name", metavar="NODE", shell_complete=complete_nodes)
@output_option("table", "json", "yaml")
def describe(name: str, output: str) -> None:
    """Show everything about a node: cards, folders, alerts and the tasks there.

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
    """Keep new tasks away from nodes. What runs there goes on.

    It holds until `muster node uncordon`, through restarts of the node and of the server.

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
    """Let nodes have tasks again, after a cordon or a drain.

    \b
    Example:
      muster node uncordon gpu7
    """
    act_on_nodes(names, lambda client, name: client.uncordon_node(name), output)


@click.command()
@_nodes
@_reason
@click.option("--now", is_flag=True, help="Stop what runs there; it goes back to the queue and is not counted.")
@click.option("--wait", is_flag=True, help="Until nothing runs there any more.")
@output_option("name", "json", "yaml", default="name")
def drain(names: tuple[str, ...], reason: str, now: bool, wait: bool, output: str) -> None:
    """Empty nodes: they get no new task, and those they have go on to their end.

    With --now the jobs there are stopped within their grace and start again elsewhere, from their last checkpoint.

    \b
    Examples:
      muster node drain gpu7 --reason "new cards on Monday" --wait
      muster node drain gpu7 gpu8 --now
    """
    act_on_nodes(names, lambda client, name: client.drain_node(name, reason, now=now), output)
    if wait:
        _wait_until_empty(connect(), names)


@click.command()
@_nodes
@click.option(
    "--forget-host-key", is_flag=True, help="Take the key that the host shows now: it was set up anew. Be sure of that."
)
@output_option("name", "json", "yaml", default="name")
def reconnect(names: tuple[str, ...], forget_host_key: bool, output: str) -> None:
    """Drop the line to nodes and connect at once, instead of waiting for the next try. Tasks do not notice.

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
