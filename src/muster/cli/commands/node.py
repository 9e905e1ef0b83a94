"""`muster node`, the group of commands for nodes, with `add` and `remove`."""

import sys
from typing import TYPE_CHECKING, Any

import click

from muster.cli.commands import node_administration, node_exec
from muster.cli.key_values import parse_texts
from muster.cli.lazy_group import Group
from muster.cli.node_readiness import wait_until_ready
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_clusters, complete_nodes

if TYPE_CHECKING:
    from muster.client.client import Client

_FIELDS = {"key_file": "keyFile"}
_FIRST = "lab"
"""The default name of the first SSH cluster."""


@click.group(cls=Group)
def command() -> None:
    """List, add, remove, cordon and drain nodes.

    \b
    Examples:
      muster node list
      muster node drain gpu7 --reason "new GPUs on Monday" --wait
      muster node exec gpu7 -- nvidia-smi
      muster node add gpu7 --ssh ubuntu@10.0.0.7 --cluster lab --key-file ~/.ssh/id_ed25519
      muster node remove gpu7
    """


for _one in (
    *(
        node_administration.list_nodes,
        node_administration.describe,
        node_administration.cordon,
        node_administration.uncordon,
        node_administration.drain,
    ),
    *(node_administration.reconnect, node_exec.command),
):
    command.add_command(_one)


@command.command()
@click.argument("name")
@click.option(
    "--ssh", required=True, metavar="[USER@]HOST[:PORT]", help="The SSH address by which the server reaches the node."
)
@click.option(
    "--cluster",
    help=f"The SSH cluster to join; if absent, the only one, or {_FIRST}. A cluster that does not exist is created.",
    shell_complete=complete_clusters,
)
@click.option("--key-file", metavar="PATH", help="A private key on the server, readable only by the server's account.")
@click.option("--password", is_flag=True, help="Ask for the password of the account, or read it from standard input.")
@click.option("--jump", metavar="[USER@]HOST[:PORT]", help="A jump host; separate several with commas.")
@click.option(
    "--accept-host-key",
    is_flag=True,
    help="Accept the first key that the host presents, and refuse any other key later.",
)
@click.option("--address", metavar="HOST", help="The address by which other nodes of a job reach it.")
@click.option("--interface", metavar="NAME", help="The network interface for the traffic of jobs, such as ib0.")
@click.option("--python", metavar="COMMAND", help="Python 3.8 or newer on the node.  [default: python3]")
@click.option("--root", metavar="PATH", help="The folder for tasks.  [default: .muster-node in the account's home]")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="A label that jobs can select with `where`; repeatable.",
)
@click.option(
    "--wait/--no-wait", default=True, show_default=True, help="Wait until the node is ready or cannot be reached."
)
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
    """Add a node to a cluster. It needs sshd and Python 3.8 or newer; Muster installs its agent itself.

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
    say(f"added node {name} to cluster {cluster}")
    if wait:
        wait_until_ready(client, cluster, name)


@command.command()
@click.argument("name", shell_complete=complete_nodes)
@click.option("--cluster", help="The cluster, if several have a node of that name.", shell_complete=complete_clusters)
def remove(name: str, cluster: str | None) -> None:
    """Remove a node that `muster node add` added. Its running tasks continue to their end; it gets no new ones.

    A node that an admin wrote into a cluster file must be removed from that file.

    \b
    Examples:
      muster node remove gpu7
      muster node remove gpu7 --cluster lab
    """
    connect().remove_node(name, cluster)
    say(f"removed node {name}; tasks that run there continue to their end")


def _only_cluster(client: "Client") -> str:
    names = [cluster.name for cluster in client.clusters() if cluster.backend == "ssh"]
    if len(names) > 1:
        raise click.UsageError(f"there are several SSH clusters; choose one with --cluster: {', '.join(names)}")
    return names[0] if names else _FIRST


def _password(ssh: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt(f"Password of {ssh}", hide_input=True, err=True))
