"""`muster node`: machines of a cluster."""

import sys
from typing import TYPE_CHECKING, Any

import click

from muster.cli.assignments import parse_texts
from muster.cli.commands import node_exec, node_life
from muster.cli.node_readiness import follow_joining
from muster.cli.options import complete_nodes
from muster.cli.session import connect, say

if TYPE_CHECKING:
    from muster.client.client import Client

_FIELDS = {"key_file": "keyFile"}
_FIRST = "lab"
"""What the first SSH cluster is called if nobody says otherwise."""


@click.group()
def command() -> None:
    """Look at nodes, add and remove them, and keep work away from them.

    \b
    Examples:
      muster node list
      muster node drain gpu7 --reason "new cards on Monday" --wait
      muster node exec gpu7 -- nvidia-smi
      muster node add gpu7 --ssh ubuntu@10.0.0.7 --cluster lab --key-file ~/.ssh/id_ed25519
      muster node remove gpu7
    """


for _one in (
    *(node_life.list_nodes, node_life.describe, node_life.cordon, node_life.uncordon, node_life.drain),
    *(node_life.reconnect, node_exec.command),
):
    command.add_command(_one)


@command.command()
@click.argument("name")
@click.option("--ssh", required=True, metavar="[USER@]HOST[:PORT]", help="How the server reaches it.")
@click.option("--cluster", help=f"The SSH cluster to join; the only one, or {_FIRST}, if absent. A new one is made.")
@click.option("--key-file", metavar="PATH", help="A private key on the server, for its account alone to read.")
@click.option("--password", is_flag=True, help="Ask for the account's password, or read it from standard input.")
@click.option("--jump", metavar="[USER@]HOST[:PORT]", help="A host to pass through; several with commas.")
@click.option("--accept-host-key", is_flag=True, help="Take the key that the host shows first, and no other later.")
@click.option("--address", metavar="HOST", help="Its address for other nodes of a job.")
@click.option("--interface", metavar="NAME", help="The network interface that jobs talk over, such as ib0.")
@click.option("--python", metavar="COMMAND", help="Python 3.8 or newer on the node.  [default: python3]")
@click.option("--root", metavar="PATH", help="Where it keeps tasks.  [default: .muster-node in the account's home]")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="What jobs ask for by `where`; repeatable.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Until the node is ready, or cannot be.")
def add(
    name: str,
    ssh: str,
    cluster: str | None,
    password: bool,
    accept_host_key: bool,
    labels: tuple[str, ...],
    wait: bool,
    **given: str | None,
) -> None:
    """Add a machine to a cluster. It needs sshd and Python 3.8; Muster brings the rest along.

    \b
    Examples:
      muster node add gpu7 --ssh ubuntu@10.0.0.7 --key-file ~/.ssh/id_ed25519
      muster node add gpu8 --ssh gpu8.example.org --cluster lab --jump gate.example.org --accept-host-key
      muster node add gpu9 --ssh lab@10.0.0.9:2222 --password < secret --label rack=b
    """
    fields: dict[str, Any] = {_FIELDS.get(key, key): value for key, value in given.items() if value is not None}
    fields["labels"] = parse_texts(labels, "--label")
    if accept_host_key:
        fields["hostKeys"] = "first-use"
    if password:
        fields["password"] = _password(ssh)
    client = connect()
    cluster = cluster or _only_cluster(client)
    client.add_node(cluster, name, ssh, **fields)
    say(f"added {name} to cluster {cluster}")
    if wait:
        follow_joining(client, cluster, name)


@command.command()
@click.argument("name", shell_complete=complete_nodes)
@click.option("--cluster", help="Where several clusters have a node of that name.")
def remove(name: str, cluster: str | None) -> None:
    """Take a machine that was added out of its cluster. Its tasks may end; it gets no new ones.

    A machine that stands in a file of an admin's own is taken out there.

    \b
    Examples:
      muster node remove gpu7
      muster node remove gpu7 --cluster lab
    """
    connect().remove_node(name, cluster)
    say(f"removed {name}; tasks that run there go on until they end")


def _only_cluster(client: "Client") -> str:
    names = [cluster.name for cluster in client.clusters() if cluster.backend == "ssh"]
    if len(names) > 1:
        raise click.UsageError(f"there are several SSH clusters; say which by --cluster: {', '.join(names)}")
    return names[0] if names else _FIRST


def _password(ssh: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt(f"Password of {ssh}", hide_input=True, err=True))
