"""Finds names in the access lists of cluster files that let in nobody: an unknown user, a group without members."""

from collections.abc import Iterable, Iterator

from muster.domain.access import Shared
from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster
from muster.domain.virtual_clusters import VirtualCluster


def unknown_names(
    physical: Iterable[PhysicalCluster], virtual: Iterable[VirtualCluster], users: Iterable[User]
) -> list[str]:
    """What is wrong with the lists. An account that an identity provider makes at the first login is unknown before."""
    everybody = list(users)
    names = {user.name for user in everybody}
    groups = {group for user in everybody for group in user.groups}
    found: list[str] = []
    for what, shared in _lists(physical, virtual):
        found += [f"{what}: there is no user {name}" for name in shared.users if name not in names]
        found += [f"{what}: nobody is in group {name}" for name in shared.groups if name not in groups]
    return found


def _lists(physical: Iterable[PhysicalCluster], virtual: Iterable[VirtualCluster]) -> Iterator[tuple[str, Shared]]:
    for cluster in physical:
        yield f"cluster {cluster.name}", cluster.access
        yield from ((f"folder {folder.name} of cluster {cluster.name}", folder) for folder in cluster.folders)
    yield from ((f"virtual cluster {vc.name}", vc) for vc in virtual)
