"""Prints the description of a cluster, for `describe`."""

from muster.api.nodes import AccessOut
from muster.cli.access_names import unknown_names
from muster.cli.session import say_warning
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import echo
from muster.client.client import Client
from muster.client.errors import MusterError
from muster.client.node_views import ClusterView

_MEANINGS = {
    "user": "each task runs under the Unix account of its owner",
    "namespace": "each task sees only the system, its own files and the cluster's folders",
    "container": "each task runs in a container",
    "none": "all tasks run under one account, and can reach each other",
}


def describe_cluster(client: Client, name: str, output: str) -> None:
    clusters = client.clusters()
    cluster = next((one for one in clusters if one.name == name), None)
    if cluster is None:
        known = ", ".join(one.name for one in clusters)
        listed = f"known clusters: {known}" if known else "no cluster is switched on and open to you"
        hint = f"{listed}; admins open and switch on others in their files"
        raise MusterError(f"there is no cluster {name!r} that you may use", code="not-found", hint=hint)
    if output != "table":
        print_document(cluster.raw, output)
        return
    print_pairs(
        [
            ("Name", cluster.name),
            ("Backend", cluster.backend),
            ("State", cluster.state),
            ("Nodes", str(cluster.nodes)),
            ("Placement", "by Muster" if cluster.placement == "muster" else "by the cluster's engine"),
            ("Capabilities", ", ".join(cluster.capabilities)),
            ("Isolation", _isolation(cluster)),
            *([("Storages", ", ".join(cluster.storages))] if cluster.storages else []),
            *([("Notes", "; ".join(cluster.notes))] if cluster.notes else []),
            *([("Access", _access(cluster.access))] if cluster.access is not None else []),
        ]
    )
    echo("Jobs of the person under whose account the server runs are not isolated from that account.")
    for _, why in unknown_names(client, [cluster]):
        say_warning(f"the access list names somebody unknown: {why}")


def _access(access: AccessOut) -> str:
    named = [*access["users"], *(f"group {name}" for name in access["groups"])]
    return f"{', '.join(named)}; admins" if named else "everybody"


def _isolation(cluster: ClusterView) -> str:
    given = cluster.isolation
    if given is None:
        return "by the cluster's engine"
    if given["mode"] is None:
        return "not known yet: no node is connected"
    words = f"{given['mode']}: {_MEANINGS[given['mode']]}"
    if given["why"]:
        words += f" ({given['why']})"
    if given["mode"] == "none":
        words += "; users are trusted" if given["trustUsers"] else "; only admins may submit"
    words += "".join(f"; not enforced: {gap}" for gap in given.get("gaps", ()))
    return words
