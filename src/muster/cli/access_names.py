"""Finds names in the access lists of clusters that let in nobody: an unknown user, a group without members."""

from collections.abc import Iterator, Sequence

from muster.client.client import Client
from muster.client.node_views import ClusterView


def unknown_names(client: Client, clusters: Sequence[ClusterView]) -> Iterator[tuple[str, str]]:
    """The name of a cluster, and what is wrong with its list. Only admins see such lists, and may ask for users."""
    closed = [(cluster.name, cluster.access) for cluster in clusters if cluster.access]
    if not any(access["users"] or access["groups"] for _, access in closed):
        return
    users = client.users()
    names, groups = {user.name for user in users}, {group for user in users for group in user.groups}
    for cluster, access in closed:
        yield from ((cluster, f"there is no user {name}") for name in access["users"] if name not in names)
        yield from ((cluster, f"nobody is in group {name}") for name in access["groups"] if name not in groups)
